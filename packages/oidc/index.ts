export { createProvider, createSignIn, type OidcOptions } from './sign-in.ts';
