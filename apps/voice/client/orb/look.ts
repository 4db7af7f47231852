// Looks of the orb, and how a skill's viz or a user's pinned_viz becomes one.
import type { Viz } from '../../api-types.ts';

export interface Parameter {
  name: string;
  label: string;
  min: number;
  max: number;
  standard: number;
}

/** Every variant has these, and at most four of its own, as the shaders take one vec4. */
const SHARED_PARAMETERS: readonly Parameter[] = [
  parameter('speed', 'Speed', 0.2, 2, 1),
  parameter('reactivity', 'Reactivity to voices', 0, 2, 1),
  parameter('glow', 'Glow', 0, 2, 1),
];

export const OWN_PARAMETERS: Record<Variant, readonly Parameter[]> = {
  fractal: [
    parameter('detail', 'Detail', 0.4, 1.8, 1),
    parameter('twist', 'Twist', 0, 2, 1),
    parameter('depth', 'Depth', 0.4, 1.6, 1),
  ],
  nebula: [
    parameter('density', 'Density', 0.4, 1.8, 1),
    parameter('swirl', 'Swirl', 0, 2, 1),
    parameter('stars', 'Stars', 0, 2, 1),
  ],
  particles: [
    parameter('count', 'How many', 0.2, 1, 0.7),
    parameter('size', 'Size', 0.5, 2, 1),
    parameter('spread', 'Spread', 0, 2, 1),
    parameter('links', 'Links', 0, 2, 1),
  ],
  crystal: [
    parameter('facets', 'Facets', 0, 1, 0.5),
    parameter('dispersion', 'Dispersion', 0, 2, 1),
    parameter('clarity', 'Clarity', 0.3, 1.7, 1),
  ],
};

export interface Look {
  variant: Variant;
  palette: Palette;
  params: Readonly<Record<string, number>>;
}

export function parametersOf(variant: Variant): readonly Parameter[] {
  return [...OWN_PARAMETERS[variant], ...SHARED_PARAMETERS];
}

/** Applies variant, palette and params in this order; later descriptions win. */
export function resolveLook(...descriptions: readonly (Viz | null | undefined)[]): Look {
  const given = descriptions.flatMap((viz) => viz ?? []);
  const variant = given.reduce<Variant>((known, viz) => variantNamed(viz.variant) ?? known, VARIANTS[0]);
  const palettes = PALETTES[variant];
  const palette = given.reduce<Palette | undefined>(
    (known, viz) => palettes.find(({ name }) => sameName(name, viz.palette)) ?? known,
    palettes[0],
  );
  if (palette === undefined) throw new Error(`The variant ${variant} has no palette`);
  return { variant, palette, params: paramsOf(variant, given) };
}

/** The look as the viz block of a skill file. */
export function lookAsYaml({ variant, palette, params }: Look): string {
  const changed = parametersOf(variant).filter(({ name, standard }) => params[name] !== standard);
  const lines = changed.map(({ name }) => `    ${name}: ${params[name]}`);
  return [
    'viz:',
    `  variant: ${variant}`,
    `  palette: ${palette.name}`,
    ...(lines.length > 0 ? ['  params:', ...lines] : []),
    '',
  ].join('\n');
}

/** `random` gives numbers from 0 to 1. */
export function randomLook(random: () => number): Look {
  const variant = VARIANTS[Math.floor(random() * VARIANTS.length)] ?? VARIANTS[0];
  const palettes = PALETTES[variant];
  const palette = palettes[Math.floor(random() * palettes.length)]?.name;
  const params = parametersOf(variant).map(({ name, min, max }) => [
    name,
    rounded(min + random() * (max - min)),
  ]);
  return resolveLook({ variant, palette, params: Object.fromEntries(params) });
}

function paramsOf(variant: Variant, given: readonly Viz[]): Record<string, number> {
  const merged: Record<string, unknown> = Object.assign({}, ...given.map(({ params }) => params));
  return Object.fromEntries(
    parametersOf(variant).map(({ name, min, max, standard }) => {
      const value = merged[name];
      const isNumber = typeof value === 'number' && Number.isFinite(value);
      return [name, isNumber ? Math.min(max, Math.max(min, value)) : standard];
    }),
  );
}

function variantNamed(name: unknown): Variant | undefined {
  return VARIANTS.find((variant) => sameName(variant, name));
}

function sameName(name: string, given: unknown): boolean {
  return typeof given === 'string' && given.trim().toLowerCase() === name.toLowerCase();
}

function rounded(value: number): number {
  return Math.round(value * 20) / 20;
}

function parameter(name: string, label: string, min: number, max: number, standard: number): Parameter {
  return { name, label, min, max, standard };
}

export const VARIANTS = ['fractal', 'nebula', 'particles', 'crystal'] as const;

export type Variant = (typeof VARIANTS)[number];

/** Five colours of an orb, from its depth to its brightest point. */
export interface Palette {
  name: string;
  deep: string;
  low: string;
  middle: string;
  high: string;
  spark: string;
}

/** The palettes of each variant; the first is the default. */
export const PALETTES: Record<Variant, readonly Palette[]> = {
  fractal: [
    palette('Aurora', '#04101f', '#0c5f86', '#2fe0a6', '#7f6bff', '#eafff7'),
    palette('Ember', '#190604', '#7d1d10', '#ff6426', '#ffb44a', '#fff2dc'),
    palette('Citrus', '#101503', '#5f8a0c', '#dfe52f', '#ff9a1f', '#fffee6'),
    palette('Forest', '#05130c', '#12583a', '#4fb06c', '#c4da7c', '#f7ffe8'),
    palette('Noir', '#08080b', '#3c3c48', '#8f8f9d', '#dcd7cb', '#ffffff'),
  ],
  nebula: [
    palette('Andromeda', '#0a0618', '#3f1f8a', '#cc3f94', '#4d92ff', '#fff1fb'),
    palette('Emerald', '#02120e', '#0a5c4e', '#1ccb90', '#93f2d4', '#f1fffa'),
    palette('Helios', '#190802', '#8e2a06', '#ff861c', '#ffd76e', '#fffbe9'),
    palette('Veil', '#10121a', '#4c5870', '#9fb0cb', '#e2c9d6', '#ffffff'),
  ],
  particles: [
    palette('Constellation', '#060a18', '#2b4f9e', '#7fb4ff', '#d3e5ff', '#ffffff'),
    palette('Stardust', '#130a17', '#7a3f86', '#e79fce', '#ffdfb2', '#fffaf1'),
    palette('Ember', '#170703', '#92260f', '#ff7931', '#ffc56c', '#fff4e1'),
    palette('Moss', '#081108', '#3a6030', '#8cbb5d', '#d9e8a0', '#fcffec'),
  ],
  crystal: [
    palette('Prism', '#0b0e1c', '#6656ff', '#22d6ea', '#ff68b0', '#ffffff'),
    palette('Sapphire', '#020820', '#0a2e96', '#2c6bff', '#a3caff', '#f3f8ff'),
    palette('Topaz', '#1a0c02', '#9c4806', '#f5a02a', '#ffe3a6', '#fffaf1'),
    palette('Obsidian', '#030304', '#17151d', '#3a3547', '#a8854f', '#fdf6e8'),
  ],
};

function palette(
  name: string,
  deep: string,
  low: string,
  middle: string,
  high: string,
  spark: string,
): Palette {
  return { name, deep, low, middle, high, spark };
}
