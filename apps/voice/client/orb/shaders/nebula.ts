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
