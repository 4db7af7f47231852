/** Pages that offices and firms fill in from one form: the same words, other figures, at times other names. */
export const forms: Record<string, string[]> = {
  weather: fill(
    (figure) =>
      `Weather for Aldmouth and the coast. Today the temperature rises to ${figure(19)} degrees by ${figure(6) + 12} o'clock, with a wind of ${figure(40)} kilometres an hour from the west. The chance of rain is ${figure(90)} percent before noon and ${figure(80)} percent after it; up to ${figure(14)} millimetres are expected. During the night it cools down to ${figure(9)} degrees. High water stands at ${figure(5)} metres at ${figure(11)} in the morning. The sea has ${figure(17)} degrees. Pollen counts are low. The record for this day is ${figure(30) + 20} degrees, measured in ${figure(90) + 1920}. Walkers on the sands should note that the tide comes in fast and that the flag on the pier says when it is safe to go out.`,
  ),
  results: fill(
    (figure) =>
      `Harwell Instruments plc publishes its results for the quarter. Revenue came to ${figure(70) + 80} million pounds, a change of ${figure(12)} percent against the same quarter of the year before. Operating profit was ${figure(20) + 5} million pounds and the margin ${figure(9) + 8} percent. Orders stood at ${figure(150) + 100} million pounds at the end of the quarter. Research and development took ${figure(12)} million pounds. The number of employees was ${figure(900) + 2000}. For the whole year the board expects revenue of about ${figure(200) + 400} million pounds. Net debt was ${figure(60)} million pounds. The board will propose a dividend of ${figure(30)} pence a share, to be paid on the usual date to those who are on the register. The full statement can be read on the page for investors.`,
  ),
  notice: [
    ['Birch Cottage', 'Church Lane', 'a garage for two cars'],
    ['The Old Forge', 'Station Road', 'a room in the roof'],
    ['Number 9', 'Quarry Hill', 'a wall of brick along the footpath'],
    ['Fenwick House', 'Harbour Street', 'solar panels on the barn'],
  ].map(
    ([house, street, work]) =>
      `Notice of an application for planning permission. The owner of ${house} in ${street} has applied to the district council for leave to build ${work}. The drawings can be seen at the council offices from Monday to Friday between nine and four, or on the council's pages under the number of the application. Anyone who wishes to object to ${work} at ${house} must do so in writing within 21 days. Objections are public and will be shown to the applicant. The committee decides at its next meeting, at which those who have objected in writing may speak for three minutes.`,
  ),
  places: [
    ['Ansley', 'Dorvale', 'Tern'],
    ['Brackwell', 'Highmoor', 'Esk'],
    ['Corrow', 'Dorvale', 'Lune'],
    ['Dunsop', 'Westerley', 'Tern'],
  ].map(([place, county, river], seed) =>
    filled(
      (figure) =>
        `${place} is a parish in the county of ${county}, on the river ${river}. At the last census it had ${figure(900) + 100} inhabitants in ${figure(300) + 50} households. It covers an area of ${figure(4000) + 500} hectares, of which ${figure(80)} percent are farmland. ${place} lies ${figure(300)} metres above the sea. The church was built in ${figure(500) + 1200} and restored in ${figure(90) + 1800}. Trains stopped at ${place} until ${figure(60) + 1920}. The parish council has ${figure(9) + 3} members and meets in the village hall on the first Tuesday of every month. Buses run to the market town on weekdays. The primary school of ${place} has ${figure(90) + 10} pupils.`,
      seed + 3,
    ),
  ),
};

type Figure = (below: number) => number;

function fill(form: (figure: Figure) => string): string[] {
  return [1, 2, 3, 4].map((seed) => filled(form, seed));
}

/** Figures that look like chance and are always the same. */
function filled(form: (figure: Figure) => string, seed: number): string {
  let state = seed * 7919;
  return form((below) => {
    state = (state * 48_271) % 2_147_483_647;
    return 1 + (state % below);
  });
}
