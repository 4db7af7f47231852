// Draws an orb on a canvas: every frame while something moves, a few times a second at rest, never out of view.
import type { Look, Variant } from './look.ts';
import { type Levels, Motion, type OrbState } from './motion.ts';
import type { Gl } from './program.ts';
import { createScene, type Scene } from './scenes.ts';

const REST_INTERVAL_MS = 250;
/** In a call in which nobody speaks; half the frames of a screen are enough. */
const CALM_INTERVAL_MS = 28;
const MOST_PIXELS = 760;
const SLOW_PICTURE_MS = 26;
const PICTURES_A_TRIAL = 10;
const SMALLEST_SHARE = 0.4;
/** If even the coarsest picture is slow, so that the call never waits for the orb. */
const SLOW_INTERVAL_MS = 120;

export interface OrbView {
  state: OrbState;
  look: Look;
  light: boolean;
}

export interface OrbPlayer {
  show(view: OrbView): void;
  stop(): void;
}

/** Starts drawing. Calls `readLevels` for every frame, and `onFailed` if WebGL2 is missing or fails. */
export function createOrbPlayer(
  canvas: HTMLCanvasElement,
  readLevels: () => Levels,
  first: OrbView,
  onFailed: () => void,
): OrbPlayer | undefined {
  const gl = canvas.getContext('webgl2', {
    alpha: true,
    premultipliedAlpha: true,
    antialias: false,
    depth: false,
    powerPreference: 'low-power',
  });
  if (gl === null) {
    onFailed();
    return undefined;
  }
  const player = new Player({ canvas, gl, readLevels, onFailed }, first);
  player.start();
  return player;
}

interface PlayerParts {
  canvas: HTMLCanvasElement;
  gl: Gl;
  readLevels: () => Levels;
  onFailed: () => void;
}

class Player implements OrbPlayer {
  readonly #canvas: HTMLCanvasElement;
  readonly #gl: Gl;
  readonly #readLevels: () => Levels;
  readonly #onFailed: () => void;
  readonly #motion = new Motion();
  readonly #stopping = new AbortController();
  readonly #seen: IntersectionObserver;
  #view: OrbView;
  #scene: { variant: Variant; scene: Scene } | undefined;
  #inView = true;
  #timer: number | undefined;
  #frame: number | undefined;
  #share = 1;
  #drawnAt = 0;
  #pauseMs = 0;
  #trial = { pictures: 0, since: 0 };

  constructor({ canvas, gl, readLevels, onFailed }: PlayerParts, view: OrbView) {
    this.#canvas = canvas;
    this.#gl = gl;
    this.#readLevels = readLevels;
    this.#onFailed = onFailed;
    this.#view = view;
    this.#seen = new IntersectionObserver(([entry]) => {
      this.#inView = entry?.isIntersecting ?? true;
      this.#wake();
    });
  }

  start(): void {
    const { signal } = this.#stopping;
    document.addEventListener('visibilitychange', () => this.#wake(), { signal });
    this.#canvas.addEventListener('webglcontextlost', (event) => event.preventDefault(), { signal });
    this.#canvas.addEventListener('webglcontextrestored', () => this.#restore(), { signal });
    window.addEventListener('resize', () => this.#wake(), { signal });
    this.#seen.observe(this.#canvas);
    this.#wake();
  }

  show(view: OrbView): void {
    this.#motion.change(view.state, performance.now());
    this.#view = view;
    this.#wake();
  }

  stop(): void {
    this.#stopping.abort();
    this.#seen.disconnect();
    this.#pause();
    this.#scene?.scene.dispose();
    this.#scene = undefined;
  }

  #restore(): void {
    this.#scene = undefined;
    this.#wake();
  }

  #wake(): void {
    this.#pause();
    if (this.#stopping.signal.aborted || document.visibilityState === 'hidden' || !this.#inView) return;
    this.#frame = requestAnimationFrame((now) => this.#picture(now));
  }

  #pause(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#frame = undefined;
    this.#timer = undefined;
  }

  #picture(now: number): void {
    this.#frame = undefined;
    if (this.#gl.isContextLost()) return;
    if (this.#motion.isCalm(now) && now - this.#drawnAt < CALM_INTERVAL_MS) {
      this.#frame = requestAnimationFrame((next) => this.#picture(next));
      return;
    }
    this.#drawnAt = now;
    try {
      this.#draw(now);
    } catch (error) {
      // The graphics driver refuses the shaders.
      console.warn(error);
      this.#onFailed();
      return;
    }
    if (this.#motion.isAtRest(now)) {
      this.#trial.pictures = 0;
      this.#timer = window.setTimeout(() => this.#wake(), REST_INTERVAL_MS);
      return;
    }
    // In a calm call the pause between frames is intended.
    if (this.#motion.isCalm(now)) this.#trial.pictures = 0;
    else this.#watchPace(now);
    if (this.#pauseMs > 0) this.#timer = window.setTimeout(() => this.#wake(), this.#pauseMs);
    else this.#frame = requestAnimationFrame((next) => this.#picture(next));
  }

  #draw(now: number): void {
    const { look, light } = this.#view;
    const gl = this.#gl;
    this.#motion.change(this.#view.state, now);
    const moment = this.#motion.advance(now, this.#readLevels(), look.params.speed ?? 1);
    this.#fit();
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#sceneOf(look.variant).draw(moment, look, light);
  }

  #sceneOf(variant: Variant): Scene {
    if (this.#scene?.variant !== variant) {
      this.#scene?.scene.dispose();
      this.#scene = { variant, scene: createScene(this.#gl, variant) };
    }
    return this.#scene.scene;
  }

  // As sharp as the screen, up to what a phone can draw in time.
  #fit(): void {
    const canvas = this.#canvas;
    const wanted = canvas.clientWidth * Math.min(2, window.devicePixelRatio);
    const side = Math.max(1, Math.round(Math.min(MOST_PIXELS, wanted) * this.#share));
    if (canvas.width === side && canvas.height === side) return;
    canvas.width = side;
    canvas.height = side;
  }

  // A slow machine gets a coarser picture, and at last fewer frames.
  #watchPace(now: number): void {
    if (this.#trial.pictures === 0) this.#trial.since = now;
    this.#trial.pictures += 1;
    if (this.#trial.pictures <= PICTURES_A_TRIAL) return;
    const each = (now - this.#trial.since) / PICTURES_A_TRIAL - this.#pauseMs;
    if (each > SLOW_PICTURE_MS) this.#slowDown(each);
    this.#trial.pictures = 0;
  }

  #slowDown(each: number): void {
    if (this.#share === SMALLEST_SHARE) this.#pauseMs = SLOW_INTERVAL_MS;
    const factor = Math.max(0.5, Math.sqrt(SLOW_PICTURE_MS / each));
    this.#share = Math.max(SMALLEST_SHARE, this.#share * factor);
  }
}
