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
