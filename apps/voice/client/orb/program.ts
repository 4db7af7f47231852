import { type Look, OWN_PARAMETERS, type Palette } from './look.ts';
import type { Moment } from './motion.ts';

export type Gl = WebGL2RenderingContext;

export interface Program {
  handle: WebGLProgram;
  uniforms: ReadonlyMap<string, WebGLUniformLocation>;
}

/** One triangle that covers the canvas, computed from the vertex id. */
export const COVER_VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0), 0.0, 1.0);
}
`;

export function createProgram(gl: Gl, vertex: string, fragment: string): Program {
  const handle = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const) {
    const shader = gl.createShader(kind);
    if (shader === null) throw new Error('The graphics context was lost.');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(handle, shader);
    // Freed with the program.
    gl.deleteShader(shader);
  }
  gl.bindAttribLocation(handle, 0, 'a_point');
  gl.linkProgram(handle);
  if (!gl.getProgramParameter(handle, gl.LINK_STATUS) && !gl.isContextLost()) {
    const logs = (gl.getAttachedShaders(handle) ?? []).map((shader) => gl.getShaderInfoLog(shader));
    throw new Error(`The orb cannot be drawn here: ${[gl.getProgramInfoLog(handle), ...logs].join(' ')}`);
  }
  return { handle, uniforms: uniformsOf(gl, handle) };
}

/** Uses a program and sets all uniforms. */
export function applyProgram(gl: Gl, program: Program, moment: Moment, look: Look, light: boolean): void {
  // biome-ignore lint/correctness/useHookAtTopLevel: a call of WebGL, no hook
  gl.useProgram(program.handle);
  const { params, palette, variant } = look;
  const reactivity = params.reactivity ?? 1;
  const own = OWN_PARAMETERS[variant].map(({ name }) => params[name] ?? 0);
  const numbers = {
    u_time: moment.time,
    u_ear: Math.min(1, moment.ear * reactivity),
    u_voice: Math.min(1, moment.voice * reactivity),
    u_light: light ? 1 : 0,
    u_glow: params.glow ?? 1,
  };
  for (const [name, value] of Object.entries(numbers)) gl.uniform1f(place(name), value);
  gl.uniform2f(place('u_resolution'), gl.drawingBufferWidth, gl.drawingBufferHeight);
  gl.uniform4f(place('u_states'), ...moment.states);
  gl.uniform4f(place('u_own'), own[0] ?? 0, own[1] ?? 0, own[2] ?? 0, own[3] ?? 0);
  for (const name of COLOURS) gl.uniform3f(place(`u_${name}`), ...linear(palette[name]));

  // A uniform that the shader does not use has no location.
  function place(name: string): WebGLUniformLocation | null {
    return program.uniforms.get(name) ?? null;
  }
}

const COLOURS = ['deep', 'low', 'middle', 'high', 'spark'] as const satisfies (keyof Palette)[];

/** sRGB to linear light. */
function linear(hex: string): [number, number, number] {
  const channel = (at: number) => (Number.parseInt(hex.slice(at, at + 2), 16) / 255) ** 2.2;
  return [channel(1), channel(3), channel(5)];
}

function uniformsOf(gl: Gl, handle: WebGLProgram): Map<string, WebGLUniformLocation> {
  const count = Number(gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS));
  const found = new Map<string, WebGLUniformLocation>();
  for (let index = 0; index < count; index += 1) {
    const name = gl.getActiveUniform(handle, index)?.name;
    const location = name === undefined ? null : gl.getUniformLocation(handle, name);
    if (name !== undefined && location !== null) found.set(name, location);
  }
  return found;
}

/** The beginning of every fragment shader: uniforms and helpers. */
export const COMMON = `#version 300 es
precision highp float;

uniform vec2 u_resolution;
uniform float u_time;
uniform vec4 u_states;   // idle, listening, thinking, speaking
uniform float u_ear;
uniform float u_voice;
uniform float u_light;   // 1 on paper, 0 at night
uniform float u_glow;
uniform vec4 u_own;      // the variant's own parameters
uniform vec3 u_deep, u_low, u_middle, u_high, u_spark;

out vec4 o_colour;

const float TAU = 6.28318530718;

float saturate(float x) { return clamp(x, 0.0, 1.0); }

mat2 turn(float angle) {
  float c = cos(angle), s = sin(angle);
  return mat2(c, -s, s, c);
}

float hash(vec2 p) {
  vec3 q = fract(vec3(p.xyx) * 0.1031);
  q += dot(q, q.yzx + 33.33);
  return fract((q.x + q.y) * q.z);
}

// Evens out the steps of a march without moving from picture to picture.
float grain(vec2 pixel) {
  return fract(52.9829189 * fract(dot(pixel, vec2(0.06711056, 0.00583715))));
}

// The middle of the picture is 0; the orb has about the radius 1.
vec2 place() {
  return (gl_FragCoord.xy * 2.0 - u_resolution) / min(u_resolution.x, u_resolution.y) * 1.42;
}

float loudness() { return max(u_ear, u_voice); }

// How large the orb is: small at rest, drawn together in thought, pushed out by a voice.
float radius(vec2 p) {
  float angle = atan(p.y, p.x);
  float breath = 0.012 * sin(u_time * 1.7);
  float size = dot(u_states, vec4(0.9, 0.95, 0.89, 0.94)) + breath;
  float ripple = sin(angle * 3.0 + u_time * 2.1) + 0.6 * sin(angle * 5.0 - u_time * 2.9);
  return size + 0.05 * loudness() + ripple * (0.012 * u_voice + 0.007 * u_ear);
}

vec3 encode(vec3 colour) {
  colour = max(colour, 0.0);
  colour = colour * (1.0 + colour * 0.12) / (1.0 + colour * 0.62);
  return pow(colour, vec3(1.0 / 2.2));
}

// Light round the orb at night; on paper a soft coloured shadow, and a ring that opens when somebody speaks.
vec4 surroundings(vec2 p, float size) {
  float d = max(0.0, length(p) - size);
  vec3 tint = mix(mix(u_low, u_middle, 0.6), u_high, u_states.z * 0.5 + u_states.w * 0.25);
  float strength = dot(u_states, vec4(0.2, 0.34, 0.34, 0.42)) + 0.5 * loudness();
  float halo = exp(-d * mix(5.6, 4.2, loudness())) * strength * u_glow * 0.5;
  float below = length(p + vec2(0.0, 0.11)) - size * 0.94;
  float shadow = 0.3 * exp(-below * below * 20.0) * smoothstep(0.5, -0.05, below);
  // Nothing reaches the edge of the picture.
  float fade = smoothstep(1.42, 1.08, length(p));
  vec4 night = vec4(encode(tint * 1.3) * halo, halo * 0.55);
  float paper = halo * 0.45 + shadow * (1.0 - halo * 0.45);
  vec4 day = vec4(encode(mix(u_low, tint, 0.5)) * paper, paper);
  return mix(night, day, u_light) * fade;
}

// Two lights that run round the rim while the orb thinks, each with a tail.
float comet(vec2 p) {
  float along = fract(atan(p.y, p.x) / TAU - u_time * 0.16);
  float other = fract(along + 0.5);
  return pow(along, 6.0) * smoothstep(1.0, 0.93, along) + 0.5 * pow(other, 9.0) * smoothstep(1.0, 0.93, other);
}

// Hides the steps between faint colours.
vec4 dithered(vec4 colour) {
  float noise = (hash(gl_FragCoord.xy + 17.0) - 0.5) / 255.0;
  return colour.a > 0.002 && colour.a < 0.999 ? max(colour + vec4(noise), 0.0) : colour;
}

// Puts a ball over its surroundings, with a smooth edge.
vec4 compose(vec3 inside, vec2 p, float size) {
  float pixel = 2.84 / min(u_resolution.x, u_resolution.y);
  float cover = 1.0 - smoothstep(size - pixel * 1.5, size, length(p));
  vec4 around = surroundings(p, size);
  vec4 ball = vec4(encode(inside), 1.0) * cover;
  return dithered(ball + around * (1.0 - cover));
}

// The shine of a glass ball: a bright rim, a window above, light that gathers below.
vec3 glass(vec3 normal, vec2 p) {
  float facing = saturate(normal.z);
  float rim = pow(1.0 - facing, 3.2);
  float heard = dot(u_states, vec4(0.35, 0.8, 0.55, 0.75)) + 1.1 * u_ear + 0.6 * u_voice;
  vec3 edge = mix(u_middle, u_high, 0.5 + 0.5 * normal.y) * rim * heard * 0.95;
  vec3 light = normalize(vec3(-0.45, 0.72, 0.62));
  float shine = pow(saturate(dot(normal, light)), 46.0) * 0.5;
  float sheen = pow(saturate(dot(normal, normalize(vec3(-0.2, 0.9, 0.3)))), 5.0) * 0.10;
  float caustic = pow(saturate(dot(normal, normalize(vec3(0.35, -0.78, 0.42)))), 7.0) * 0.16;
  float circling = comet(p) * pow(1.0 - facing, 3.4) * u_states.z * 3.2;
  return edge + u_spark * (shine + sheen) + mix(u_high, u_spark, 0.5) * circling + u_high * caustic;
}
`;

/** Ends the shader of a glass ball, which defines `vec3 paint(vec3 normal)`: the colour inside the ball. */
export const BALL_MAIN = `
void main() {
  vec2 p = place();
  float size = radius(p);
  vec2 ball = p / size;
  float depth = 1.0 - dot(ball, ball);
  vec3 colour = length(p) < size ? paint(vec3(ball, sqrt(max(0.0, depth)))) : vec3(0.0);
  o_colour = compose(colour, p, size);
}
`;
