// Which attempt to build which instance something is about, as cells and computes tell it.

export interface AttemptId {
  readonly instance: string;
  readonly attempt: number;
}

export const attemptKey = ({ instance, attempt }: AttemptId): string => `${instance} ${attempt}`;
