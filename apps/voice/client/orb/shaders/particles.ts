/** The room the points float in: a faint ball at night, a dark one on paper. */
export const PARTICLE_GROUND = `
vec3 paint(vec3 normal) {
  float heart = exp(-dot(normal.xy, normal.xy) * 2.6);
  vec3 colour = u_deep * (0.75 + 0.3 * normal.y);
  colour += mix(u_low, u_middle, 0.25) * heart * (0.16 + 0.12 * u_states.y + 0.22 * u_states.w + 0.9 * u_voice);
  return colour + glass(normal, normal.xy) * 0.8;
}
`;

const PLACES = `#version 300 es
precision highp float;

uniform vec2 u_resolution;
uniform float u_time;
uniform vec4 u_states;
uniform float u_ear;
uniform float u_voice;
uniform vec4 u_own;      // count, size, spread, links

in vec4 a_point;         // a place on the ball, and a number from 0 to 1 that is the point's own

mat2 turn(float angle) {
  float c = cos(angle), s = sin(angle);
  return mat2(c, -s, s, c);
}

float wave(vec3 q) { return dot(sin(q), cos(q.zxy * 1.3 + 0.9)); }

// Where a point is now: shells that turn at their own pace, pushed out by the voice in waves.
vec3 drift(vec3 start, float own) {
  float shell = mix(0.34, 0.82, pow(own, 0.55));
  float swell = wave(start * 2.6 + vec3(0.0, u_time * 0.5, u_time * 0.3));
  float spoken = wave(start * 4.2 - vec3(u_time * 2.2)) * u_voice * 0.07;
  float heard = sin(start.y * 9.0 - u_time * 5.0) * u_ear * 0.055;
  float gather = dot(u_states, vec4(0.0, 0.015, -0.05, 0.02));
  float far = shell + gather + swell * 0.055 * u_own.z + spoken + heard;
  vec3 q = start * far;
  float spin = u_time * (0.12 + 0.2 * (1.0 - own)) + u_states.z * (0.5 - own) * sin(u_time * 0.4) * 1.6;
  q.xz = turn(spin) * q.xz;
  // In thought the points settle towards a disc.
  q.y *= 1.0 - 0.45 * u_states.z;
  q.xy = turn(0.32) * q.xy;
  q.yz = turn(0.28 + 0.1 * sin(u_time * 0.2)) * q.yz;
  return q;
}

vec4 project(vec3 q) {
  float view = 1.0 / (1.0 - q.z * 0.22);
  vec2 scale = min(u_resolution.x, u_resolution.y) / u_resolution / 1.42;
  return vec4(q.xy * view * scale, 0.0, 1.0);
}

out float v_own;
out float v_depth;

void put() {
  vec3 q = drift(a_point.xyz, a_point.w);
  v_own = a_point.w;
  v_depth = q.z * 0.5 + 0.5;
  gl_Position = project(q);
}
`;

export const POINT_VERTEX = `${PLACES}
void main() {
  put();
  float star = pow(fract(a_point.w * 91.7), 9.0);
  float size = mix(0.0075, 0.017, v_depth) * (0.75 + 1.5 * star) * u_own.y * (1.0 + 0.5 * max(u_ear, u_voice));
  gl_PointSize = max(1.5, size * min(u_resolution.x, u_resolution.y));
}
`;

const INK = `#version 300 es
precision highp float;

uniform float u_time;
uniform vec4 u_states;
uniform float u_ear;
uniform float u_voice;
uniform float u_glow;
uniform vec4 u_own;
uniform vec3 u_low, u_middle, u_high, u_spark;

in float v_own;
in float v_depth;
out vec4 o_colour;

vec3 hue() {
  vec3 colour = mix(u_low, u_middle, smoothstep(0.0, 0.55, v_own));
  colour = mix(colour, u_high, smoothstep(0.45, 1.0, v_own));
  return mix(colour, u_spark, 0.16 * v_depth * v_depth);
}

float brightness() {
  float state = dot(u_states, vec4(0.5, 0.68, 0.75, 0.72)) + 0.35 * max(u_ear, u_voice);
  return state * mix(0.18, 1.0, v_depth * v_depth) * mix(0.7, 1.0, u_glow * 0.5 + 0.5);
}

// Light that is added: it covers nothing.
void shine(vec3 colour, float strength) { o_colour = vec4(pow(colour, vec3(1.0 / 2.2)) * strength, strength * 0.25); }
`;

export const POINT_FRAGMENT = `${INK}
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  float d = dot(p, p);
  if (d > 1.0) discard;
  float twinkle = 0.75 + 0.25 * sin(u_time * 2.0 + v_own * 80.0);
  float disc = exp(-d * 3.2) * 0.75 + exp(-d * 14.0) * 0.6;
  shine(hue(), disc * brightness() * twinkle * smoothstep(1.0, 0.7, d));
}
`;

export const LINK_VERTEX = `${PLACES}
void main() { put(); }
`;

export const LINK_FRAGMENT = `${INK}
void main() {
  float listening = 0.65 + 0.5 * u_states.y + 1.2 * u_ear + 0.5 * u_voice;
  shine(mix(u_middle, u_high, v_depth * 0.6), brightness() * 0.3 * u_own.w * listening);
}
`;
