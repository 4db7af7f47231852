const rememberedTurns = 8;
/** So many far turns one after the other are those of a caller who has moved away. */
const movedAwayTurns = 3;
/** A voice this much softer than the caller's is that of somebody further away. */
const farDecibels = 12;
/** Who is this much louder than usual wants to be heard. */
const raisedDecibels = 10;
/** A caller who is softer than this is brought up by `InputGain` while the bot is silent, so that levels do not compare. */
const softestDecibels = -32;

/** How loud the caller is, learnt from their turns: tells them from others in the room, and from a television. */
export class CallerLevel {
  #levels: number[] = [];
  #farTurns = 0;

  /** Somebody has said something while the bot was silent, at this level in decibels of full scale. */
  learn(level: number): void {
    this.#farTurns = this.isFar(level) ? this.#farTurns + 1 : 0;
    if (this.#farTurns === movedAwayTurns) [this.#levels, this.#farTurns] = [[], 0];
    this.#levels = [...this.#levels, level].slice(-rememberedTurns);
  }

  isFar(level: number): boolean {
    const usual = this.#usual;
    return usual !== undefined && level < usual - farDecibels;
  }

  isRaised(level: number): boolean {
    const usual = this.#usual;
    return usual !== undefined && level > usual + raisedDecibels;
  }

  /**
   * The median of the loudest turns that are near each other: a loud turn that is alone was a shout, and softer ones are
   * those of somebody else. Undefined while it is unknown, or cannot be compared.
   */
  get #usual(): number | undefined {
    const levels = this.#levels.toSorted((left, right) => right - left);
    const loudest = levels.find((level, place) => level - (levels[place + 1] ?? level) <= farDecibels);
    if (loudest === undefined) return undefined;
    const near = levels.filter((level) => level <= loudest && level >= loudest - farDecibels);
    const usual = near[near.length >> 1];
    return usual !== undefined && usual > softestDecibels ? usual : undefined;
  }
}
