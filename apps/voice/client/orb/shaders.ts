/** A cut stone of sixteen pairs of faces; light is followed through it. Own parameters: facets, dispersion, clarity. */
export const CRYSTAL = `
const float GOLD = 1.61803398875;
mat3 attitude;
float near_faces, far_faces;

// Six axes of the twelve-sided body, then ten of the twenty-sided one.
const vec3 FACES[16] = vec3[16](
  normalize(vec3(0.0, 1.0, GOLD)), normalize(vec3(0.0, -1.0, GOLD)), normalize(vec3(1.0, GOLD, 0.0)),
  normalize(vec3(-1.0, GOLD, 0.0)), normalize(vec3(GOLD, 0.0, 1.0)), normalize(vec3(GOLD, 0.0, -1.0)),
  normalize(vec3(1.0, 1.0, 1.0)), normalize(vec3(-1.0, 1.0, 1.0)), normalize(vec3(1.0, -1.0, 1.0)),
  normalize(vec3(1.0, 1.0, -1.0)), normalize(vec3(0.0, 1.0 / GOLD, GOLD)), normalize(vec3(0.0, -1.0 / GOLD, GOLD)),
  normalize(vec3(1.0 / GOLD, GOLD, 0.0)), normalize(vec3(-1.0 / GOLD, GOLD, 0.0)),
  normalize(vec3(GOLD, 0.0, 1.0 / GOLD)), normalize(vec3(GOLD, 0.0, -1.0 / GOLD)));

float reach(int index) { return index < 6 ? near_faces : far_faces; }

// Where a ray enters and leaves the stone, and the faces it meets there.
bool meet(vec3 from, vec3 along, out float enter, out float leave, out vec3 front, out vec3 back) {
  enter = -1e3; leave = 1e3; front = vec3(0.0); back = vec3(0.0);
  for (int i = 0; i < 16; i++) {
    vec3 n = FACES[i];
    float d = dot(along, n), h = dot(from, n), r = reach(i);
    if (abs(d) < 1e-5) { if (abs(h) > r) return false; continue; }
    float t1 = (-r - h) / d, t2 = (r - h) / d;
    float lo = min(t1, t2), hi = max(t1, t2);
    if (lo > enter) { enter = lo; front = n * -sign(d); }
    if (hi < leave) { leave = hi; back = n * sign(d); }
  }
  return enter < leave;
}

// The room that is mirrored in the stone: a window, two lamps and the colours of the palette.
vec3 room(vec3 d) {
  d = d * transpose(attitude);
  float up = d.y * 0.5 + 0.5;
  vec3 colour = mix(u_deep * 0.6, u_low * 0.55, smoothstep(0.35, 1.0, up));
  colour += u_middle * pow(saturate(dot(d, normalize(vec3(0.8, 0.1, 0.45)))), 6.0) * 1.5;
  colour += u_high * pow(saturate(dot(d, normalize(vec3(-0.85, -0.25, 0.3)))), 7.0) * 1.6;
  colour += u_low * pow(saturate(dot(d, normalize(vec3(0.1, -0.9, -0.3)))), 4.0) * 1.6;
  colour += u_middle * pow(saturate(dot(d, normalize(vec3(-0.2, 0.3, -0.95)))), 9.0) * 1.3;
  colour += u_high * pow(saturate(dot(d, normalize(vec3(0.55, -0.45, -0.75)))), 12.0) * 1.5;
  vec3 window = normalize(vec3(-0.45, 0.75, 0.5));
  vec3 aside = normalize(cross(window, vec3(0.0, 1.0, 0.0))), above = cross(aside, window);
  float pane = smoothstep(0.36, 0.26, abs(dot(d, aside))) * smoothstep(0.28, 0.18, abs(dot(d, above)));
  colour += u_spark * pane * step(0.0, dot(d, window)) * 2.4;
  float strip = smoothstep(0.10, 0.02, abs(d.y + 0.35)) * smoothstep(0.1, 0.7, d.x);
  colour += u_spark * strip * 1.1;
  float circle = u_time * 0.9;
  vec3 lamp = normalize(vec3(cos(circle), 0.35, sin(circle)));
  float wandering = pow(saturate(dot(d, lamp)), 30.0);
  return colour + mix(u_high, u_spark, 0.5) * wandering * (0.4 + 3.0 * u_states.z);
}

// A ray that leaves the stone, split into its colours.
vec3 split(vec3 along, vec3 face_in, float index, float spread) {
  vec3 r = refract(along, face_in, index - spread);
  vec3 g = refract(along, face_in, index);
  vec3 b = refract(along, face_in, index + spread);
  return vec3(room(dot(r, r) > 0.0 ? r : along).r, room(dot(g, g) > 0.0 ? g : along).g, room(dot(b, b) > 0.0 ? b : along).b);
}

vec3 stone(vec3 from, vec3 along, vec3 front, out float rim) {
  float index = 1.0 / 1.62;
  float spread = 0.045 * u_own.y * (1.0 + 0.6 * u_voice);
  rim = pow(1.0 - saturate(dot(-along, front)), 4.0);
  vec3 mirrored = room(reflect(along, front));
  vec3 within = refract(along, front, index);
  vec3 at = from, sum = vec3(0.0), through = vec3(1.0);
  vec3 thirst = (1.15 - normalize(u_middle + u_high * 0.4 + 0.12)) * (1.3 / u_own.z);
  for (int bounce = 0; bounce < 4; bounce++) {
    float enter, leave; vec3 f, back;
    if (!meet(at, within, enter, leave, f, back)) break;
    leave = max(leave, 0.001);
    vec3 exit = at + within * leave;
    through *= exp(-thirst * leave * 0.75);
    // What glows in the heart of the stone, felt where the ray passes nearest.
    float past = length(cross(at, within));
    float heart = exp(-past * past * 16.0) * (0.08 + 0.1 * u_states.y + 0.1 * u_states.w + 0.5 * u_voice + 0.25 * u_ear);
    sum += through * mix(u_high, u_spark, 0.35) * heart;
    float cosine = saturate(dot(within, back));
    bool total = 1.0 - 2.6244 * (1.0 - cosine * cosine) < 0.0;
    float kept = total ? 1.0 : 0.16 + 0.84 * pow(1.0 - cosine, 4.0);
    if (!total) sum += through * (1.0 - kept) * split(within, -back, 1.62, spread);
    through *= kept * 0.94;
    within = reflect(within, back);
    at = exit - back * 0.0005;
  }
  return mix(sum, mirrored, 0.05 + 0.75 * rim);
}

vec4 ray(vec2 p, float size) {
  vec3 from = vec3(p / size, 3.0) * attitude, along = vec3(0.0, 0.0, -1.0) * attitude;
  float enter, leave; vec3 front, back;
  if (!meet(from, along, enter, leave, front, back)) return vec4(0.0);
  float rim;
  vec3 colour = stone(from + along * enter, along, front, rim);
  colour += mix(u_middle, u_high, 0.5) * rim * (0.2 + 0.9 * u_ear + 0.4 * u_voice);
  return vec4(colour, 1.0);
}

void main() {
  vec2 p = place();
  float size = (dot(u_states, vec4(0.95, 1.0, 0.95, 1.0)) + 0.012 * sin(u_time * 1.7) + 0.06 * loudness());
  float pace = u_time * 0.22;
  mat2 yaw = turn(pace), pitch = turn(0.42 + 0.12 * sin(pace * 0.7)), roll = turn(0.3 + 0.2 * u_states.z * sin(u_time * 0.5));
  mat3 y = mat3(yaw[0].x, 0.0, yaw[0].y, 0.0, 1.0, 0.0, yaw[1].x, 0.0, yaw[1].y);
  mat3 x = mat3(1.0, 0.0, 0.0, 0.0, pitch[0].x, pitch[0].y, 0.0, pitch[1].x, pitch[1].y);
  mat3 z = mat3(roll[0].x, roll[0].y, 0.0, roll[1].x, roll[1].y, 0.0, 0.0, 0.0, 1.0);
  attitude = z * x * y;
  near_faces = mix(0.86, 0.80, u_own.x);
  far_faces = mix(0.78, 0.84, u_own.x);
  float pixel = 1.42 / min(u_resolution.x, u_resolution.y);
  // Two rays a point make the edges of the faces smooth.
  vec4 colour = 0.5 * (ray(p + vec2(0.5, 0.2) * pixel, size) + ray(p - vec2(0.5, 0.2) * pixel, size));
  float bright = dot(u_states, vec4(0.85, 1.1, 1.15, 1.2)) * mix(1.0, u_glow, 0.35);
  vec4 ball = vec4(encode(colour.rgb / max(colour.a, 0.001) * bright * 1.5), 1.0) * colour.a;
  o_colour = dithered(ball + surroundings(p, size * 0.8) * (1.0 - colour.a));
}
`;

/** Threads of light: waves within waves, looked into through a glass ball. Own parameters: detail, twist, depth. */
export const FRACTAL = `
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
export const NEBULA = `
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
