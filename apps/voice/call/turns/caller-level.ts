const rememberedTurns = 5;
/** A voice this much softer than the caller's is that of somebody further away. */
const farDecibels = 12;
/** Who is this much louder than usual wants to be heard. */
const raisedDecibels = 10;
/** A caller who is softer than this is brought up by `InputGain` while the bot is silent, so that levels do not compare. */
const softestDecibels = -32;

/** How loud the caller is, learnt from their turns: tells them from others in the room, and from a television. */
export class CallerLevel {
  readonly #levels: number[] = [];

  /** The caller has said something while the bot was silent, at this level in decibels of full scale. */
  learn(level: number): void {
    this.#levels.push(level);
    if (this.#levels.length > rememberedTurns) this.#levels.shift();
  }

  isFar(level: number): boolean {
    const usual = this.#usual;
    return usual !== undefined && level < usual - farDecibels;
  }

  isRaised(level: number): boolean {
    const usual = this.#usual;
    return usual !== undefined && level > usual + raisedDecibels;
  }

  /** Undefined while it is unknown, or cannot be compared. */
  get #usual(): number | undefined {
    const usual = this.#levels.toSorted((left, right) => right - left)[this.#levels.length >> 1];
    return usual !== undefined && usual > softestDecibels ? usual : undefined;
  }
}
