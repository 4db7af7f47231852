// What each variant draws: one full-canvas shader, and for particles points and links over it.
import type { Look, Variant } from './look.ts';
import type { Moment } from './motion.ts';
import { applyProgram, BALL_MAIN, COMMON, COVER_VERTEX, createProgram, type Gl } from './program.ts';
import {
  CRYSTAL,
  FRACTAL,
  LINK_FRAGMENT,
  LINK_VERTEX,
  NEBULA,
  PARTICLE_GROUND,
  POINT_FRAGMENT,
  POINT_VERTEX,
} from './shaders.ts';

// Points spread evenly over a ball, and a few brighter ones that are linked like a constellation.

const MOST_POINTS = 3200;

const STARS = 130;

const LINKS_EACH = 3;

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** Linked stars share one shell, so that they never drift apart. */
const STAR_SHELL = 0.95;

export interface Scene {
  draw(moment: Moment, look: Look, light: boolean): void;
  dispose(): void;
}

export function createScene(gl: Gl, variant: Variant): Scene {
  return variant === 'particles' ? createParticles(gl) : createCover(gl, COVERS[variant]);
}

const COVERS: Record<Exclude<Variant, 'particles'>, string> = {
  fractal: FRACTAL + BALL_MAIN,
  nebula: NEBULA + BALL_MAIN,
  crystal: CRYSTAL,
};

function createCover(gl: Gl, fragment: string): Scene {
  const program = createProgram(gl, COVER_VERTEX, COMMON + fragment);
  return {
    draw(moment, look, light) {
      applyProgram(gl, program, moment, look, light);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    },
    dispose: () => gl.deleteProgram(program.handle),
  };
}

function createParticles(gl: Gl): Scene {
  const ground = createCover(gl, PARTICLE_GROUND + BALL_MAIN);
  const dots = createProgram(gl, POINT_VERTEX, POINT_FRAGMENT);
  const lines = createProgram(gl, LINK_VERTEX, LINK_FRAGMENT);
  const cloud = createPointCloud();
  const points = pointArray(gl, cloud.points);
  const stars = pointArray(gl, cloud.stars, cloud.links);
  return {
    draw(moment, look, light) {
      ground.draw(moment, look, light);
      const count = Math.round((cloud.points.length / 4) * (look.params.count ?? 1));
      applyProgram(gl, lines, moment, look, light);
      gl.bindVertexArray(stars.array);
      gl.drawElements(gl.LINES, cloud.links.length, gl.UNSIGNED_SHORT, 0);
      applyProgram(gl, dots, moment, look, light);
      gl.bindVertexArray(points.array);
      gl.drawArrays(gl.POINTS, 0, count);
      gl.bindVertexArray(stars.array);
      gl.drawArrays(gl.POINTS, 0, cloud.stars.length / 4);
      gl.bindVertexArray(null);
    },
    dispose() {
      ground.dispose();
      for (const { handle } of [dots, lines]) gl.deleteProgram(handle);
      for (const { dispose } of [points, stars]) dispose();
    },
  };
}

function pointArray(gl: Gl, numbers: Float32Array, links?: Uint16Array) {
  const array = gl.createVertexArray();
  const buffers = [gl.createBuffer(), ...(links ? [gl.createBuffer()] : [])];
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffers[0] ?? null);
  gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 0, 0);
  if (links !== undefined) {
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[1] ?? null);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, links, gl.STATIC_DRAW);
  }
  gl.bindVertexArray(null);
  const dispose = () => {
    gl.deleteVertexArray(array);
    for (const buffer of buffers) gl.deleteBuffer(buffer);
  };
  return { array, dispose };
}

interface PointCloud {
  /** Four numbers per point: its place on the ball, and its own number. */
  points: Float32Array;
  stars: Float32Array;
  /** Pairs of stars. */
  links: Uint16Array;
}

function createPointCloud(): PointCloud {
  const stars = spread(STARS, () => STAR_SHELL, 0.5);
  return { points: spread(MOST_POINTS, ownNumber, 0), stars, links: nearestPairs(stars) };
}

function spread(count: number, own: (index: number) => number, offset: number): Float32Array {
  const numbers = new Float32Array(count * 4);
  // In scattered order, so that a part of the points covers the ball too.
  for (let index = 0; index < count; index += 1) {
    const step = scattered(index, count);
    const height = 1 - (2 * (step + 0.5)) / count;
    const ring = Math.sqrt(1 - height * height);
    const angle = step * GOLDEN_ANGLE + offset;
    numbers.set([Math.cos(angle) * ring, height, Math.sin(angle) * ring, own(step)], index * 4);
  }
  return numbers;
}

function scattered(index: number, count: number): number {
  return (index * 1009) % count;
}

function ownNumber(index: number): number {
  return ((index * 0.754877666) % 1) * 0.94;
}

function nearestPairs(stars: Float32Array): Uint16Array {
  const pairs = new Set<number>();
  const places = Array.from({ length: STARS }, (_, star) => stars.subarray(star * 4, star * 4 + 3));
  places.forEach((place, star) => {
    const others = places.map((other, index) => ({ index, near: index === star ? -2 : dot(place, other) }));
    others.sort((a, b) => b.near - a.near);
    for (const { index } of others.slice(0, LINKS_EACH))
      pairs.add(Math.min(star, index) * STARS + Math.max(star, index));
  });
  return Uint16Array.from([...pairs].flatMap((pair) => [Math.floor(pair / STARS), pair % STARS]));
}

function dot(a: Float32Array, b: Float32Array): number {
  return (a[0] ?? 0) * (b[0] ?? 0) + (a[1] ?? 0) * (b[1] ?? 0) + (a[2] ?? 0) * (b[2] ?? 0);
}
