import type { generateSpecs } from 'hono-openapi';

/** The parts of an OpenAPI 3.1 document, as the generator types them. */
export type ApiDocument = Awaited<ReturnType<typeof generateSpecs>>;

export type Operation = NonNullable<NonNullable<ApiDocument['paths'][string]>['get']>;

type Components = NonNullable<ApiDocument['components']>;

export type Schema = NonNullable<Components['schemas']>[string];

export type SchemaOrReference = Schema | { $ref: string };

export type Parameter = Exclude<NonNullable<Components['parameters']>[string], { $ref: string }>;

export type ResponseDescription = Exclude<NonNullable<Components['responses']>[string], { $ref: string }>;

export type SecurityScheme = Exclude<NonNullable<Components['securitySchemes']>[string], { $ref: string }>;
