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
