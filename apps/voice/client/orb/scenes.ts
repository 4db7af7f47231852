// What is drawn for each variant: one covering picture, and for particles the points and their links over it.
import type { Look } from './look.ts';
import type { Moment } from './motion.ts';
import type { Variant } from './palettes.ts';
import { createPointCloud } from './pointCloud.ts';
import { applyProgram, COVER_VERTEX, createProgram, type Gl } from './program.ts';
import { COMMON } from './shaders/common.ts';
import { CRYSTAL } from './shaders/crystal.ts';
import { FRACTAL } from './shaders/fractal.ts';
import { NEBULA } from './shaders/nebula.ts';
import {
  LINK_FRAGMENT,
  LINK_VERTEX,
  PARTICLE_GROUND,
  POINT_FRAGMENT,
  POINT_VERTEX,
} from './shaders/particles.ts';

export interface Scene {
  draw(moment: Moment, look: Look, light: boolean): void;
  dispose(): void;
}

export function createScene(gl: Gl, variant: Variant): Scene {
  return variant === 'particles' ? createParticles(gl) : createCover(gl, COVERS[variant]);
}

const COVERS: Record<Exclude<Variant, 'particles'>, string> = {
  fractal: FRACTAL,
  nebula: NEBULA,
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
  const ground = createCover(gl, PARTICLE_GROUND);
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
