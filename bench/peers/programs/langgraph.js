// The smallest agent that LangGraph's guide builds: a model with one tool, in a loop.
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const calculator = tool(
  async ({ expression }) => {
    const [left = '', right = ''] = expression.split('*');
    return String(Number(left) * Number(right));
  },
  {
    name: 'calculator',
    description: 'Computes an arithmetic expression.',
    schema: z.object({ expression: z.string().describe('Such as 12 * 34') }),
  },
);
const model = new ChatOpenAI({
  model: 'bench-model',
  apiKey: 'none',
  configuration: { baseURL: process.env.LLM_GATEWAY_URL },
}).bindTools([calculator]);

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode([calculator]))
  .addEdge('__start__', 'agent')
  .addConditionalEdges('agent', toolsCondition)
  .addEdge('tools', 'agent')
  .compile();
