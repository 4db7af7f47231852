import { Tabs as Radix } from 'radix-ui';
import { type ReactNode, useEffect, useRef } from 'react';
import { cn } from '../lib/cn.ts';

export interface Column<Row> {
  id: string;
  header: string;
  cell(row: Row): ReactNode;
  /** Figures stand at the right. */
  align?: 'left' | 'right';
}

interface TableProps<Row> {
  /** What the table lists, read aloud. */
  caption: string;
  /** The first one names the row. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowId(row: Row): string;
}

/** A table; where it is narrow, each row becomes a card with the headers as labels. */
export function Table<Row>({ caption, columns, rows, rowId }: TableProps<Row>) {
  return (
    <div className="@container">
      <table className="block w-full border-collapse text-14 @lg:table">
        <caption className="sr-only">{caption}</caption>
        <thead className="sr-only @lg:not-sr-only @lg:table-header-group">
          <tr>
            {columns.map(({ id, header, align }) => (
              <th
                key={id}
                scope="col"
                className={cn(
                  'border-line border-b px-4 py-2 font-medium text-12 text-muted',
                  align === 'right' ? 'text-right' : 'text-left',
                )}
              >
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="block @lg:table-row-group">
          {rows.map((row) => (
            <tr
              key={rowId(row)}
              className="block border-line border-b px-4 py-2 last:border-b-0 hover:bg-hover @lg:table-row @lg:p-0"
            >
              {columns.map((column, index) => (
                <Cell key={column.id} column={column} row={row} first={index === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row, first }: { column: Column<Row>; row: Row; first: boolean }) {
  const right = column.align === 'right' && '@lg:text-right @lg:font-mono @lg:text-12';
  const place = 'py-1 @lg:table-cell @lg:px-4 @lg:py-2 @lg:align-middle';
  if (first) {
    return (
      <th scope="row" className={cn('block text-left font-medium', place, right)}>
        {column.cell(row)}
      </th>
    );
  }
  return (
    <td className={cn('flex justify-between gap-4', place, right)}>
      <span aria-hidden className="text-12 text-muted @lg:hidden">
        {column.header}
      </span>
      <span className="min-w-0 text-right @lg:text-inherit">{column.cell(row)}</span>
    </td>
  );
}

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

interface TabsProps {
  /** What the tabs are about, read aloud. */
  label: string;
  tabs: readonly Tab[];
  value: string;
  onChange(id: string): void;
}

export function Tabs({ label, tabs, value, onChange }: TabsProps) {
  const list = useRef<HTMLDivElement>(null);
  // On a phone the list is wider than the page: the tab that is open stands in its middle.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is open with another value
  useEffect(() => {
    const open = list.current?.querySelector<HTMLElement>('[data-state=active]');
    if (list.current && open)
      list.current.scrollLeft = open.offsetLeft - (list.current.clientWidth - open.offsetWidth) / 2;
  }, [value]);
  return (
    <Radix.Root value={value} onValueChange={onChange}>
      <Radix.List
        ref={list}
        aria-label={label}
        className="relative flex gap-1 overflow-x-auto border-line border-b"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px h-10 shrink-0 cursor-pointer border-transparent border-b-2 px-3 font-medium text-14 text-muted transition-colors hover:text-ink focus-visible:-outline-offset-2 data-[state=active]:border-accent-strong data-[state=active]:text-ink pointer-coarse:h-11"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="pt-4 focus-visible:outline-offset-4">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
