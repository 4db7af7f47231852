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
