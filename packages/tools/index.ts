export {
  type ApprovalSubject,
  type ApprovedContext,
  type ApprovedResult,
  type ApprovedTool,
  answerApproval,
  approvalText,
  approvalView,
  changedWords,
  HOW_TO_ANSWER,
  notApproved,
  readScope,
  runApproved,
} from './approval/approved-tool.ts';
export { createCalculator } from './calculator/calculator.ts';
export { contentTools, createChart } from './content/content-tools.ts';
export { createCurrentTime } from './current-time/current-time.ts';
export { createA2aDelegate, dataTexts, FreshParts } from './delegate-to/a2a-delegate.ts';
export { createCompatDelegate } from './delegate-to/compat-delegate.ts';
export {
  createDelegateTo,
  type Delegate,
  type DelegateContext,
  DelegateError,
  type DelegateErrorCode,
  questionKey,
} from './delegate-to/delegate-to.ts';
export { connectDiscord, discordRest, plainPost } from './discord/connect-discord.ts';
export { clamp, oneLine, orRefusal } from './failure.ts';
export { createFetchUrl, type FetchUrlOptions } from './fetch-url/fetch-url.ts';
export { FileMarks, markChanges, withFileMarks } from './files/file-marks.ts';
export { fileTools } from './files/file-tools.ts';
export { commandSubject, createRunCommand, runCommand } from './files/run-command.ts';
export { WorkspaceSandbox } from './files/workspace-sandbox.ts';
export { createFactbook } from './offline/factbook.ts';
export { createLookUp } from './offline/look-up.ts';
export { citedAs, type OfflineShelf } from './offline/shelf.ts';
export { createWordNet } from './offline/wordnet.ts';
export { splitMessage, visibleLine, visibleLinks, withoutPictures } from './text/split-message.ts';
export { jsonEngineClient } from './web-search/ask-engine.ts';
export { braveOptions, createBrave } from './web-search/brave.ts';
export { createDuckDuckGo } from './web-search/duckduckgo.ts';
export { createSearchEngine, searchEngineOptions } from './web-search/engines.ts';
export { parsePage } from './web-search/parse-page.ts';
export { createSearxng, searxngOptions } from './web-search/searxng.ts';
export { createTavily, tavilyOptions } from './web-search/tavily.ts';
export { createWebSearch, SearchError } from './web-search/web-search.ts';
