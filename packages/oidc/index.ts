export type { OidcProvider } from './provider.ts';
export { createProvider, loginPath, mountOidc, type OidcOptions } from './sign-in.ts';
