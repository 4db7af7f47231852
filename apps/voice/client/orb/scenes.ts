// What each variant draws: one full-canvas shader, and for particles points and links over it.
import type { Look, Variant } from './look.ts';
import type { Moment } from './motion.ts';
import { applyProgram, BALL_MAIN, COMMON, COVER_VERTEX, createProgram, type Gl } from './program.ts';
import { CRYSTAL } from './shaders/crystal.ts';
import {
  LINK_FRAGMENT,
  LINK_VERTEX,
  PARTICLE_GROUND,
  POINT_FRAGMENT,
  POINT_VERTEX,
} from './shaders/particles.ts';

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

/** Threads of light: waves within waves, looked into through a glass ball. Own parameters: detail, twist, depth. */
const FRACTAL = `
// Bends a point by waves within waves. Gives how near it lies to a thread, and where along it.
vec2 threads(vec3 q, float detail) {
  float scale = 1.0;
  float drift = u_time * 0.35;
  for (int i = 0; i < 5; i++) {
    q += 0.62 / scale * sin(q.yzx * scale * 1.35 + vec3(drift, -drift * 0.7, drift * 0.5) + float(i));
    q.xz = turn(0.7) * q.xz;
    scale *= 1.0 + 0.62 * detail;
  }
  float one = abs(sin(q.x * 2.6 + q.y * 1.1));
  float other = abs(sin(q.y * 2.2 - q.z * 1.4));
  return vec2(one + 0.22 * other, q.z + q.x * 0.5);
}

vec3 inside(vec3 front) {
  float detail = u_own.x, twist = u_own.y, depth = u_own.z;
  vec3 sum = vec3(0.0);
  float span = 2.0 * front.z / 36.0;
  float at = span * grain(gl_FragCoord.xy);
  float thin = 0.042 + 0.02 * u_voice;
  for (float i = 0.0; i < 36.0; i++) {
    vec3 q = vec3(front.xy, front.z - at);
    float far = length(q);
    q.xz = turn(u_time * 0.13 + q.y * twist * (0.9 + 1.1 * u_states.z)) * q.xz;
    q.xy = turn(u_time * 0.06 + 0.4) * q.xy;
    vec2 found = threads(q * (1.5 + 0.25 * u_states.z), detail);
    float thread = thin / (found.x * found.x + thin);
    float core = exp(-far * far * 2.6);
    float along = 0.5 + 0.5 * sin(found.y * 1.3 + u_time * 0.2);
    vec3 hue = mix(u_low, u_middle, smoothstep(0.15, 0.65, along));
    hue = mix(hue, u_high, smoothstep(0.6, 1.0, along + 0.25 * (far - 0.5)));
    float shell = smoothstep(1.0, 0.86, far);
    float bright = thread * thread * (1.3 + core * (0.9 + 3.0 * u_voice)) + thread * 0.22;
    sum += hue * bright * shell * span * exp(-at * 0.9 / depth) * 2.9;
    sum += u_spark * pow(thread, 6.0) * shell * span * (0.35 + 1.2 * u_voice + 0.5 * u_ear) * exp(-at);
    at += span;
  }
  return sum;
}

vec3 paint(vec3 normal) {
  float bright = dot(u_states, vec4(0.75, 1.15, 1.2, 1.3)) * (1.0 + 0.7 * loudness());
  vec3 colour = u_deep * (0.75 + 0.3 * normal.y) + u_low * 0.08 * normal.z;
  colour += inside(normal) * bright * mix(1.0, u_glow, 0.5);
  return colour + glass(normal, normal.xy);
}
`;

/** Clouds that turn in a ball, with stars behind. Own parameters: density, swirl, stars. */
const NEBULA = `
// A cheap cloud: waves that cross each other, finer and finer.
float cloud(vec3 q) {
  float sum = 0.0, share = 0.55;
  for (int i = 0; i < 5; i++) {
    sum += share * dot(sin(q), cos(q.zxy * 1.27 + 1.7));
    q = q * 1.93 + vec3(1.3, 4.1, 2.7);
    q.xy = turn(0.62) * q.xy;
    share *= 0.56;
  }
  return sum;
}

float star(vec2 q, float much) {
  vec2 cell = floor(q), within = fract(q) - 0.5;
  float chance = hash(cell);
  vec2 shift = (vec2(hash(cell + 7.3), hash(cell + 3.1)) - 0.5) * 0.7;
  float twinkle = 0.65 + 0.35 * sin(u_time * (1.0 + 3.0 * chance) + chance * 40.0);
  return step(1.0 - 0.13 * much, chance) * twinkle * exp(-dot(within - shift, within - shift) * 260.0);
}

vec4 inside(vec3 front) {
  float density = u_own.x, swirl = u_own.y;
  vec3 sum = vec3(0.0);
  float clear = 1.0;
  float span = 2.0 * front.z / 24.0;
  float at = span * grain(gl_FragCoord.xy);
  float stir = u_time * 0.22;
  for (float i = 0.0; i < 24.0; i++) {
    vec3 q = vec3(front.xy, front.z - at);
    float far = length(q);
    float spin = swirl * (1.7 + 1.2 * u_states.z) * exp(-far * 1.2);
    q.xz = turn(stir * 0.7 + spin) * q.xz;
    q.xy = turn(stir * 0.35 + spin * 0.5) * q.xy;
    vec3 warp = q * 1.7 + vec3(0.0, stir, 0.0);
    warp += 0.55 * sin(warp.yzx * 1.6 + stir);
    float thick = cloud(warp * 1.35);
    float shell = smoothstep(1.02, 0.55, far);
    float push = 0.10 * u_ear + 0.16 * u_voice;
    float fine = cloud(warp * 3.1 - stir);
    float much = saturate((thick + 0.38 * fine - 0.06 + push) * 1.9) * shell * density;
    float hue = cloud(warp * 0.7 + 5.0);
    vec3 tint = mix(u_low, u_middle, smoothstep(-0.35, 0.35, hue));
    tint = mix(tint, u_high, smoothstep(0.12, 0.75, thick - hue * 0.6));
    float heart = exp(-far * far * 5.0);
    vec3 lit = tint * tint * 0.35 + tint * (0.16 + 1.05 * saturate(thick * 0.75 + fine * 0.85)) * (0.75 + 0.5 * q.y);
    lit += mix(tint, u_spark, 0.6) * heart * (0.3 + 0.8 * u_voice + 0.1 * u_states.w);
    float opaque = 1.0 - exp(-much * span * 5.0);
    sum += clear * opaque * lit;
    clear *= 1.0 - opaque;
    at += span;
  }
  return vec4(sum, clear);
}

vec3 paint(vec3 normal) {
  float bright = dot(u_states, vec4(0.85, 1.12, 1.12, 1.22)) * (1.0 + 0.5 * loudness());
  vec4 gas = inside(normal);
  // Seen through glass, the stars bend towards the rim, and end before it.
  vec2 sky = normal.xy * (0.7 + 0.3 * normal.z);
  float stars = star(sky * 9.0 + u_time * 0.03, u_own.z) + 0.7 * star(sky * 16.0 - u_time * 0.02, u_own.z);
  vec3 colour = u_deep * (0.75 + 0.25 * normal.y) + u_spark * stars * gas.a * smoothstep(0.35, 0.7, normal.z);
  colour = colour * gas.a + gas.rgb * bright * mix(1.0, u_glow, 0.5) * 1.2;
  return colour + glass(normal, normal.xy) * 0.9;
}
`;
