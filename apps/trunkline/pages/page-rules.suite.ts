import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a page shows that must be alike on all, or must not be there at all. */
export interface PageFacts {
  /** Of the content within the page; undefined where the page has no title in a header. */
  frame: { left: number; width: number } | undefined;
  /** Headings that say the title of the page again. */
  repeated: string[];
  /** Times and ids as programs write them. */
  raw: string[];
  /** Times that do not tell the exact one. */
  inexact: string[];
  /** Words that are announced twice. */
  doubled: string[];
  /** States as they are shown: word, state, colour. */
  states: { word: string; state: string; colour: string }[];
  /** kB of script, as it came over the network. */
  scriptBytes: number;
}

/** Runs in the page. `quotes`: the page shows what programs write, as guides do. */
export function readFacts(quotes: boolean): PageFacts {
  const main = document.querySelector('main') ?? document.body;
  const isSeen = (element: Element) => element.checkVisibility({ visibilityProperty: true });
  const textOf = (element: Element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim();
  const title = main.querySelector('h1');
  const box = title?.closest('header')?.parentElement?.getBoundingClientRect();
  const around = main.getBoundingClientRect();
  // Some are only read aloud.
  const isDrawn = (element: Element) => isSeen(element) && element.getBoundingClientRect().width > 1;
  const headings = [...main.querySelectorAll('h2, h3')].filter(isDrawn).map(textOf);
  const written: string[] = [];
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = quotes ? null : walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    // What is quoted, or folded, is there to be copied.
    if (parent === null || parent.closest('code, pre, textarea, summary ~ *') !== null || !isSeen(parent))
      continue;
    written.push(node.textContent ?? '');
  }
  const iso = /^\s*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*\s*$/;
  const uuid = /^\s*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*$/i;
  const alerts = [...document.querySelectorAll('[role=alert], [role=status]')]
    .filter(isSeen)
    .map(textOf)
    .filter((text) => text !== '');
  const lamps = [...document.querySelectorAll('[data-lamp]')].filter(isSeen);
  const scripts = performance.getEntriesByType('resource').filter(({ name }) => /\.m?js(\?|$)/.test(name));
  return {
    frame: box && { left: box.left - around.left, width: box.width },
    repeated: headings.filter((heading) => title !== null && heading === textOf(title)),
    raw: written.filter((text) => iso.test(text) || uuid.test(text)).map((text) => text.trim().slice(0, 80)),
    inexact: [...main.querySelectorAll('time')]
      .filter((time) => !time.dateTime || Number.isNaN(Date.parse(time.dateTime)))
      .map(textOf),
    doubled: alerts.filter((text, index) => alerts.indexOf(text) !== index),
    states: lamps.map((lamp) => ({
      word: textOf(lamp),
      state: lamp.getAttribute('data-lamp') ?? '',
      colour: getComputedStyle(lamp.querySelector('svg') ?? lamp).color,
    })),
    scriptBytes: scripts.reduce(
      (sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize,
      0,
    ),
  };
}

/** A dialog: the file that has it, and the names of what leads to it on a page. */
export interface DialogPath {
  file: string;
  clicks: readonly (string | RegExp)[];
  /** The keys that open it, in place of clicks. */
  keys?: string;
}

/** By page, as in the list of pages. */
export const DIALOGS: Readonly<Record<string, readonly DialogPath[]>> = {
  '/#/chat/:chat': [
    { file: 'apps/agent/console/chat/ChatPage.tsx', clicks: [/^More for /, 'Forget this chat'] },
  ],
  '/app#/board': [{ file: 'apps/agent/console/pages/board/BoardPage.tsx', clicks: ['New issue'] }],
  '/app#/memory': [
    { file: 'apps/agent/console/pages/memory/MemoryPage.tsx', clicks: ['Remember something'] },
  ],
  '/app#/notes': [
    { file: 'apps/agent/console/pages/notes/NotesPage.tsx', clicks: ['New tab'] },
    { file: 'apps/agent/console/pages/notes/NotesPage.tsx', clicks: ['Delete the tab'] },
  ],
  '/app#/skills': [
    { file: 'apps/agent/console/pages/skills/SkillsPage.tsx', clicks: ['New skill'] },
    { file: 'apps/agent/console/pages/skills/SkillsPage.tsx', clicks: ['Try Tea time'] },
    { file: 'apps/agent/console/pages/skills/SkillsPage.tsx', clicks: ['Delete Tea time'] },
  ],
  '/app#/connections': [
    { file: 'apps/agent/console/pages/connections/ConnectionList.tsx', clicks: ['MCP servers', /^Add a /] },
    { file: 'apps/agent/console/pages/connections/ImportServers.tsx', clicks: ['MCP servers', 'Import'] },
  ],
  '/trust/people': [
    { file: 'packages/ui/pages/trust/PeopleTab.tsx', clicks: ['Add a person'] },
    { file: 'packages/ui/pages/trust/PeopleTab.tsx', clicks: ['More about Ava', 'Change name or role'] },
    { file: 'packages/ui/pages/trust/PeopleTab.tsx', clicks: ['More about Ava', 'Create a key'] },
    { file: 'packages/ui/pages/trust/PeopleTab.tsx', clicks: ['More about Ava', 'Link an identity'] },
    { file: 'packages/ui/pages/trust/PeopleTab.tsx', clicks: ['More about Ava', 'Remove'] },
  ],
  '/trust/secrets': [{ file: 'packages/ui/pages/trust/SecretsTab.tsx', clicks: ['Add a secret'] }],
  '/#/files': [
    { file: 'apps/research/client/files/FilesPage.tsx', clicks: ['Remove tides.md'] },
    { file: 'apps/research/client/files/FileDialog.tsx', clicks: ['Tides'] },
  ],
  '/#/research/:report': [
    { file: 'apps/research/client/research/JobHeader.tsx', clicks: ['Share'] },
    { file: 'apps/research/client/library/DeleteDialog.tsx', clicks: ['Delete'] },
  ],
  '/app#/agents': [
    { file: 'apps/switchboard/console/pages/agents/ConnectDialog.tsx', clicks: ['Connect one'] },
    { file: 'packages/ui/src/components/ShortcutHelp.tsx', clicks: [], keys: '?' },
    { file: 'packages/ui/src/components/CommandPalette.tsx', clicks: [], keys: 'Control+k' },
  ],
  '/app#/incidents': [
    { file: 'apps/switchboard/console/pages/incidents/IncidentsPage.tsx', clicks: ['Report an incident'] },
    { file: 'apps/switchboard/console/pages/incidents/IncidentsPage.tsx', clicks: ['Resolve'] },
  ],
  '/app#/schedules': [
    { file: 'apps/switchboard/console/pages/schedules/ScheduleList.tsx', clicks: ['Add a schedule'] },
    { file: 'apps/switchboard/console/pages/schedules/ScheduleList.tsx', clicks: ['Change morning'] },
  ],
  '/app#/servers': [
    { file: 'apps/switchboard/console/pages/servers/ServersPage.tsx', clicks: ['Add a server'] },
  ],
};

/** Dialogs that need more than a click, and the tests that look at them with axe. */
export const OPENED_ELSEWHERE: Readonly<Record<string, string>> = {
  'apps/agent/console/pages/connections/McpTab.tsx': 'apps/agent/browser/console-settings.browser.test.ts',
  'apps/voice/client/VoicePage.tsx': 'apps/voice/client/page.browser.test.ts',
  'packages/ui/pages/setup/ModelStep.tsx': 'apps/trunkline/pages/setup.browser.test.ts',
  'packages/ui/pages/trust/Pairings.tsx': 'apps/agent/browser/trust.browser.test.ts',
  'packages/ui/src/api/ApiProvider.tsx': 'apps/trunkline/pages/sign-in.browser.test.ts',
  'packages/ui/src/operator/OperatorProvider.tsx': 'apps/trunkline/pages/sign-in.browser.test.ts',
};

/** Files of pages that have a dialog, without the design system that draws it and its gallery. */
export function filesWithDialogs(root: string): string[] {
  const files = globSync(['apps/*/{console,client}/**/*.tsx', 'packages/ui/{pages,src}/**/*.tsx'], {
    cwd: root,
  });
  return files
    .filter((file) =>
      /<(Dialog|Dialog\.Root|ConfirmDialog|FormDialog)\b|<Drawer$/m.test(
        readFileSync(join(root, file), 'utf8'),
      ),
    )
    .filter((file) => file !== 'packages/ui/src/components/Dialog.tsx')
    .sort();
}
