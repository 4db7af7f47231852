/** The key as secrets.yaml keeps it, with the endpoint it was given for; a key written by hand names none. */
interface KeptKey {
  api_key: string;
  api_base: string;
}

/**
 * The key that may be sent to an endpoint. One that was given for an endpoint stays with it; one that the owner of the
 * machine wrote into secrets.yaml or a variable goes where the files on the machine say.
 */
export function keyFor(
  url: string | undefined,
  { api_key, api_base }: KeptKey,
  variable: string | undefined,
): string | undefined {
  if (api_key.trim() === '') return variable;
  return api_base === '' || isSameEndpoint(api_base, url) ? api_key : undefined;
}

/** How the host is written and slashes at the end make no difference; another path may be another customer's. */
export function isSameEndpoint(left: string | undefined, right: string | undefined): boolean {
  return placeOf(left) === placeOf(right);
}

function placeOf(url = ''): string {
  return (URL.canParse(url) ? new URL(url).href : url).replace(/\/+$/, '');
}
