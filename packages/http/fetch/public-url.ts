import { type AddressPolicyOptions, createAddressPolicy, type ResolvedAddress } from './address-policy.ts';
import { fetchErrors } from './errors.ts';

export interface PublicUrlOptions extends AddressPolicyOptions {
  signal?: AbortSignal;
  /** For the resolver; default 5 seconds. */
  timeoutMs?: number;
}

export interface CheckedUrl {
  url: URL;
  addresses: readonly ResolvedAddress[];
}

const DEFAULT_TIMEOUT_MS = 5_000;

/** Throws unless the address is http or https and every address of its host may be reached. */
export async function assertPublicUrl(
  input: string | URL,
  options: PublicUrlOptions = {},
): Promise<CheckedUrl> {
  const url = parseFetchableUrl(input);
  const ms = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = AbortSignal.timeout(ms);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
  try {
    return { url, addresses: await createAddressPolicy(options).resolve(url.hostname, signal) };
  } catch (error) {
    if (deadline.aborted && !options.signal?.aborted)
      throw fetchErrors.fetch_timeout({ host: url.hostname, ms });
    throw error;
  }
}

/** The URL parser also turns odd spellings of addresses (0x7f.1, 2130706433) into plain ones. */
export function parseFetchableUrl(input: string | URL): URL {
  const url = URL.parse(String(input));
  if (url === null) throw fetchErrors.url_invalid({ url: String(input).slice(0, 200) });
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fetchErrors.url_scheme_refused({ protocol: url.protocol });
  }
  if (url.username !== '' || url.password !== '') throw fetchErrors.url_credentials_refused();
  return url;
}
