export type { PausingTool, RunningTool, Tool, ToolContext } from './tool.ts';
export { defineTool } from './tool.ts';
