// A cell as a whole, as operators have set it: out of service it is offered nothing new.

export interface Service {
  /** Why it is out of service: its hosts are given nothing new; null: it is not. */
  readonly disabled: string | null;
  /** How often it was set. */
  readonly revision: number;
}
