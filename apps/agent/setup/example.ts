/** The configuration of a first start: everything has a default, so all of it may stay as it is. */
export const exampleConfig = `# The live configuration of the agent. Changes take effect when the file is saved; a mistake is named in
# the log and leaves the last good version in force. \${NAME} and \${NAME:-otherwise} stand for variables.

model:
  name: \${LLM_MODEL:-}
  api_base: \${LLM_GATEWAY_URL:-}
  # temperature: 0.3
  # max_tokens: 4000

identity:
  name: ""
  persona: ""

# What one turn may use up at most.
budget:
  steps: 25
  # tokens: 200000
  # cost_usd: 0.50

# Helpers that the agent may hand parts of its work to.
subagents:
  - name: worker
    description: Does one self-contained piece of work and reports the result.

# tools: { disabled: [web_search] }
# plugins: { enabled: [] }
# mcp: { servers: [] }
# delegates: []
`;
