// How welcome a media type is by an Accept header.

/** 0: not at all; 1: most. The most precise range that covers the type decides. */
export function qualityOf(accept: string, type: string): number {
  const [kind] = type.split('/');
  let best = -1;
  let quality = 0;
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const precision = ['*/*', `${kind}/*`, type].indexOf(name);
    if (precision <= best) continue;
    best = precision;
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    quality = weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return quality;
}
