import { type ListedOperation, operationsOf } from './document.ts';
import { escapeHtml } from './html.ts';
import { schemaText } from './schema-text.ts';
import type { ApiDocument, Operation, Parameter, ResponseDescription, Schema } from './types.ts';

/** The whole page as plain HTML: no script, one style sheet of the service itself. */
export function renderPage(document: ApiDocument): string {
  const { title, version, description = '' } = document.info;
  const operations = operationsOf(document);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header>
<h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>
<p>${escapeHtml(description)}</p>
<p><a href="/openapi.json">openapi.json</a></p>
</header>
<nav aria-label="Routes"><ul>${operations.map(navigationItem).join('')}</ul></nav>
<main>${operations.map((listed) => section(listed, document)).join('')}</main>
</body>
</html>
`;
}

function anchor({ method, path }: ListedOperation): string {
  return escapeHtml(`${method}-${path}`.replace(/[^A-Za-z0-9]+/g, '-'));
}

function routeTitle({ method, path }: ListedOperation): string {
  return `<b class="method">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code>`;
}

function navigationItem(listed: ListedOperation): string {
  return `<li><a href="#${anchor(listed)}">${routeTitle(listed)}</a></li>`;
}

function section(listed: ListedOperation, document: ApiDocument): string {
  const { summary = '', description = '', security } = listed.operation;
  return `<section id="${anchor(listed)}">
<h2>${routeTitle(listed)}</h2>
${paragraph(summary)}${paragraph(description)}${paragraph(securityText(security))}
${parametersTable(listed.operation, document)}${bodies(listed.operation, document)}${responses(listed.operation, document)}
</section>`;
}

function paragraph(text: string): string {
  return text === '' ? '' : `<p>${escapeHtml(text)}</p>`;
}

function securityText(security: Operation['security']): string {
  if (security === undefined || security.length === 0) return '';
  const choices = security.map((choice) => Object.keys(choice).join(' and '));
  return `Key, where one is configured: ${choices.join(', or ')}.`;
}

function parametersTable(operation: Operation, document: ApiDocument): string {
  const rows = (operation.parameters ?? []).map((parameter) =>
    parameterRow(resolve(parameter, document), document),
  );
  if (rows.length === 0) return '';
  return `<h3>Parameters</h3><table><tr><th>Name</th><th>In</th><th>Type</th><th>Notes</th></tr>${rows.join('')}</table>`;
}

/** The generator moves a parameter that is used twice into the components. */
function resolve(parameter: NonNullable<Operation['parameters']>[number], document: ApiDocument): Parameter {
  if (!('$ref' in parameter)) return parameter;
  const name = parameter.$ref.split('/').pop() ?? '';
  const found = document.components?.parameters?.[name];
  return found === undefined || '$ref' in found ? { name, in: 'query' } : found;
}

function parameterRow(parameter: Parameter, document: ApiDocument): string {
  const { name, in: place, required, description = '' } = parameter;
  const cells = [`<code>${escapeHtml(name)}</code>${required ? '' : ' (optional)'}`, escapeHtml(place)];
  const type = schemaText(parameter.schema as Schema, document.components?.schemas ?? {});
  return `<tr><td>${[...cells, `<code>${escapeHtml(type)}</code>`, escapeHtml(description)].join('</td><td>')}</td></tr>`;
}

function bodies(operation: Operation, document: ApiDocument): string {
  const body = operation.requestBody;
  if (body === undefined || '$ref' in body) return '';
  return `<h3>Body</h3>${contentText(body.content, document)}`;
}

function responses(operation: Operation, document: ApiDocument): string {
  const entries = Object.entries(operation.responses ?? {});
  const items = entries.map(([status, response]) => {
    const { description = '', content } = response as ResponseDescription;
    return `<dt>${escapeHtml(status)}</dt><dd>${escapeHtml(description)}${contentText(content, document)}</dd>`;
  });
  return items.length === 0 ? '' : `<h3>Answers</h3><dl>${items.join('')}</dl>`;
}

function contentText(content: ResponseDescription['content'], document: ApiDocument): string {
  const schemas = document.components?.schemas ?? {};
  return Object.entries(content ?? {})
    .map(([media, { schema, example }]) => {
      const text = example === undefined ? schemaText(schema, schemas) : JSON.stringify(example, null, 2);
      return `<p class="media">${escapeHtml(media)}</p><pre><code>${escapeHtml(text)}</code></pre>`;
    })
    .join('');
}
