export { readVerdict, type Verdict } from './approval/answer.ts';
export {
  type ApprovalSubject,
  type ApprovedContext,
  type ApprovedResult,
  type ApprovedTool,
  answerApproval,
  approvalText,
  changedWords,
  notApproved,
  runApproved,
} from './approval/approved-tool.ts';
export { createCalculator } from './calculator/calculator.ts';
export { type CurrentTimeOptions, createCurrentTime } from './current-time/current-time.ts';
export { type A2aDelegateOptions, createA2aDelegate } from './delegate-to/a2a-delegate.ts';
export { type CompatDelegateOptions, createCompatDelegate } from './delegate-to/compat-delegate.ts';
export {
  type Delegate,
  type DelegateContext,
  DelegateError,
  type DelegateErrorCode,
} from './delegate-to/delegate.ts';
export { createDelegateTo, type DelegateToOptions, questionKey } from './delegate-to/delegate-to.ts';
export { connectDiscord } from './discord/connect-discord.ts';
export { createFetchUrl, type FetchUrlOptions } from './fetch-url/fetch-url.ts';
export { runCommand } from './files/command.ts';
export { fileTools } from './files/file-tools.ts';
export { markProcesses } from './files/marked-processes.ts';
export { commandSubject, createRunCommand } from './files/run-command.ts';
export { inputOfJsonSchema } from './json-schema-input.ts';
export { parsePage } from './parsing/parse-page.ts';
export { ParserError, ParserPool, type ParserPoolOptions } from './parsing/parser-pool.ts';
export { clamp, oneLine, orRefusal } from './refusal.ts';
export { splitMessage } from './text/split-message.ts';
export { textSize, visibleLine, visibleText } from './text/visible-text.ts';
export { jsonEngineClient } from './web-search/ask-engine.ts';
export { createDuckDuckGo, type DuckDuckGoOptions } from './web-search/duckduckgo.ts';
export {
  type SearchEngine,
  SearchError,
  type SearchErrorCode,
  type SearchResult,
} from './web-search/search-engine.ts';
export { createSearxng, type SearxngEngine, type SearxngOptions } from './web-search/searxng.ts';
export { createWebSearch } from './web-search/web-search.ts';
