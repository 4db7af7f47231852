/** The program that conformance kits are pointed at, for tests that start it themselves. */
export const conformanceTarget = new URL('./conformance-target.ts', import.meta.url);
