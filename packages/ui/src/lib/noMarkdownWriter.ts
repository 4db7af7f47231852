// Stands in for mdast-util-to-markdown, which the reader of tables brings along to write Markdown: pages only read it.
export const defaultHandlers = {};
