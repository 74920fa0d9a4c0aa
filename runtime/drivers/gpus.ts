// GPUs as the fleets of the fake driver have them.

import type { ProviderReport } from './driver.ts';

/** The share of one GPU is counted in thousandths, as the traces do. */
export const GPU_CLASS = 'CUSTOM_GPU_MILLI';
export const WHOLE_GPU_MILLI = 1000;

/** The trait that a GPU of this model has: `CUSTOM_GPU_A100_80GB` of an `A100-80GB`. */
export function modelTrait(model: string): string {
  return `CUSTOM_GPU_${model.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

/**
 * The GPUs of a host as child providers, `<host>-gpu-0` and so on.
 * @param model Empty: it is not known, and they have no trait.
 */
export function gpuProviders(host: string, count: number, model: string): ProviderReport[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${host}-gpu-${index}`,
    inventories: { [GPU_CLASS]: { total: WHOLE_GPU_MILLI } },
    ...(model === '' ? {} : { traits: [modelTrait(model)] }),
  }));
}
