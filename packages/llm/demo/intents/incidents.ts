import { offeredCall } from '../fit.ts';
import { trimPhrase } from '../text.ts';
import type { Intent } from '../types.ts';

const reports =
  /^(?:report|file|open|raise)(?: me)?(?: an?| the)?(?: new)?(?: (?<severity>low|medium|high|critical))? (?:incident|outage)(?:[:,]| that| of| about| in| with)?\s+(?<title>.+)$/is;
const asks = /\b(?:incidents?|outages?)\b/i;

export const incidents: Intent = {
  tools: ['get_incidents', 'report_incident'],
  example: 'Is there an outage?',
  recognise(clause, situation) {
    const sentence = trimPhrase(clause);
    const reported = reports.exec(sentence)?.groups;
    if (reported) {
      const { title, severity } = reported;
      return offeredCall('report_incident', { title, severity: severity?.toLowerCase() }, situation);
    }
    if (!asks.test(sentence)) return undefined;
    const all = /\b(?:all|past|resolved)\b/i.test(sentence) ? true : undefined;
    return offeredCall('get_incidents', { all }, situation);
  },
};
