// Whether a media type is acceptable by an Accept header.

export function isAcceptable(accept: string, type: string): boolean {
  const [kind] = type.split('/');
  let best = -1;
  let quality = 0;
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const precision = [type, `${kind}/*`, '*/*'].indexOf(name);
    if (precision < 0) continue;
    // The most precise range decides.
    if (best >= 0 && precision >= best) continue;
    best = precision;
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    quality = weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return quality > 0;
}
