import { suggestions } from '@trunkline/std';
import type { Intent } from '../request.ts';
import { callOf, intentOf, mainParameter, offeredCall } from '../schema.ts';
import { trimPhrase } from '../text.ts';

export const incidents = intentOf(
  [suggestions.outage],
  [
    [
      /^(?:report|file|open|raise)(?: me)?(?: an?| the)?(?: new)?(?: (?<severity>low|medium|high|critical))? (?:incident|outage)(?:[:,]| that| of| about| in| with)?\s+(?<title>.+)$/is,
      'report_incident',
      ({ title, severity }) => ({ title, severity: severity?.toLowerCase() }),
    ],
    [
      /\b(?:all|past|resolved)\b.*\b(?:incident|outage)s?\b|\b(?:incident|outage)s?\b.*\b(?:all|past|resolved)\b/is,
      'get_incidents',
      () => ({ all: true }),
    ],
    [/\b(?:incidents?|outages?)\b/i, 'get_incidents'],
  ],
);

const kinds = 'task|bug|feature|chore|epic|issue|bead|card|ticket';
const creates = new RegExp(
  `^(?:(?:create|add|open|file|make)(?: me)?(?: a| an)?(?: new)?|new) (?<kind>${kinds})(?: (?:on|to|for) (?:the|my) (?:task )?board)?(?:[:,]| to| called| titled| named| for| that)?\\s+(?<title>.+)$`,
  'is',
);
const putsOnBoard =
  /^(?:add|put) (?<title>.+?) (?:to|on) (?:the|my) (?:(?:task )?board|(?:tasks?|to-?do) list)$/is;
const issueId = /\b(bd-\d+)\b/i;

export const board: Intent = {
  tools: ['beads_create', 'beads_list', 'beads_update', 'beads_close'],
  examples: [suggestions.task],
  recognise(clause, situation) {
    const sentence = trimPhrase(clause);
    const id = issueId.exec(sentence)?.[1]?.toLowerCase();
    if (id !== undefined) {
      const change = changeOf(sentence);
      if (change === 'close')
        return offeredCall(
          'beads_close',
          { issue_id: id, reason: /because (.+)$/i.exec(sentence)?.[1] },
          situation,
        );
      return change === undefined
        ? undefined
        : offeredCall('beads_update', { issue_id: id, ...change }, situation);
    }
    const created = (creates.exec(sentence) ?? putsOnBoard.exec(sentence))?.groups;
    if (created)
      return offeredCall(
        'beads_create',
        { title: created.title, issue_type: typeOf(created.kind) },
        situation,
      );
    const lists =
      /^(?:list|show|which|what(?:'s| is| are)?|do i have)\b.*\b(?:board|beads|tasks?|issues|tickets|to-?dos?)\b/i;
    return lists.test(sentence)
      ? offeredCall(
          'beads_list',
          /\bclosed\b|\ball\b/i.test(sentence) ? { include_closed: true } : {},
          situation,
        )
      : undefined;
  },
};

function typeOf(kind = 'task'): string {
  return /^(?:bug|feature|chore|epic)$/i.test(kind) ? kind.toLowerCase() : 'task';
}

function changeOf(sentence: string): Record<string, unknown> | 'close' | undefined {
  if (/^(?:close|finish|complete)\b|\bas (?:done|closed|finished|complete)\b/i.test(sentence)) return 'close';
  const status = /\b(in progress|blocked|deferred|open)\b/i
    .exec(sentence)?.[1]
    ?.toLowerCase()
    .replace(' ', '_');
  if (status !== undefined) return { status };
  if (/^(?:start|begin)\b/i.test(sentence)) return { status: 'in_progress' };
  const priority = /\bpriority\D*(\d)\b/i.exec(sentence)?.[1];
  if (priority !== undefined) return { priority: Number(priority) };
  const title = /^rename \S+ to (.+)$/i.exec(sentence)?.[1];
  return title === undefined ? undefined : { title };
}

export const inbox = intentOf(
  [suggestions.inbox],
  [[/\binbox\b|^(?:any|do i have(?: any)?) (?:new )?messages/i, 'check_inbox']],
);

export const goal: Intent = {
  tools: ['set_goal'],
  examples: [suggestions.goal, suggestions.goOn],
  recognise(clause, { tools }) {
    const tool = tools.get('set_goal');
    const condition =
      /^(?:(?:i (?:want|need|would like) to |i'd like to |let's )?set (?:a |the |your |my )?(?:new )?goal|(?:your|the|my) goal is(?! not reached)|goal(?! is not reached)|(?:go on|keep (?:going|on|working)|carry on|continue|work(?: on)?) until(?! it is reached))(?:[:,]|\s+(?:to|that|is))?\s+(.+)$/is.exec(
        trimPhrase(clause),
      )?.[1];
    const parameter = tool && mainParameter(tool);
    return tool && condition && parameter ? [callOf(tool, { [parameter]: condition }, condition)] : undefined;
  },
};

/** "What is on today?", "Write my morning digest": what waits, wherever it is kept. */
export const agenda: Intent = {
  tools: ['list_schedules', 'beads_list', 'check_inbox'],
  examples: [suggestions.today],
  recognise(clause, situation) {
    const asks =
      /^(?:what(?:'s| is)|show)(?: me)?(?: there)?(?: my)? (?:on (?:for )?(?:today|(?:my|the) (?:agenda|plate))|(?:planned|to do)(?: for)? today|agenda|day)\b/i;
    const orders =
      /^(?:(?:write|give|make|prepare)(?: me)?(?: my| the| a)? (?:morning|daily|evening) (?:digest|briefing)$|begin with what is due today\b)/i;
    const sentence = trimPhrase(clause);
    if (!asks.test(sentence) && !orders.test(sentence)) return undefined;
    const calls = agenda.tools.flatMap((name) => offeredCall(name, {}, situation) ?? []);
    return calls.length > 0 ? calls : undefined;
  },
};
