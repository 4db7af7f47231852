import type { Look } from './look.ts';
import { OWN_PARAMETERS } from './look.ts';
import type { Moment } from './motion.ts';
import type { Palette } from './palettes.ts';

export type Gl = WebGL2RenderingContext;

/** A pair of shaders with the places of its settings. */
export interface Program {
  handle: WebGLProgram;
  uniforms: ReadonlyMap<string, WebGLUniformLocation>;
}

/** One triangle that covers the picture, made of nothing but the number of its corner. */
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
    // Freed together with the program.
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

/** Puts a program in use and hands it everything its shaders may ask for. */
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

  // A setting that the shader does not use has no place, which is no fault.
  function place(name: string): WebGLUniformLocation | null {
    return program.uniforms.get(name) ?? null;
  }
}

const COLOURS = ['deep', 'low', 'middle', 'high', 'spark'] as const satisfies (keyof Palette)[];

/** A colour as shares of light. */
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
