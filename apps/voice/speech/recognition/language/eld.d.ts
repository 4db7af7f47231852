/** The package is optional; these are the parts that are used. */
declare module 'eld/extrasmall' {
  export const eld: { detect(text: string): { language: string; isReliable(): boolean } };
}
