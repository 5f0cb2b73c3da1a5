import './table.css'
import { ArrowDown, ArrowUp, MoveRight } from 'lucide-preact'
import { type ComponentChildren, Fragment } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { TEXTS } from '../texts/texts.ts'
import { IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { Select } from './field.tsx'
import { Icon } from './icon.tsx'
import { Hidden } from './layout.tsx'
import { pageKeyTarget } from './page-key.ts'

const texts = TEXTS.design.table

/** A column of a table. */
export interface TableColumn<R> {
  /** Unique in its table; the argument of `onSort`. */
  readonly key: string
  readonly label: string
  /** Only screen readers get the label, for a column of buttons. */
  readonly isLabelHidden?: boolean
  readonly render: (row: R) => ComponentChildren
  /** Aligned to the right, so that digits are below each other. */
  readonly isNumber?: boolean
  /** `wrap` breaks long text; a number of pixels cuts it there with an ellipsis. */
  readonly text?: 'wrap' | number
  /** Least width in pixels, so that tables below each other have the same columns. */
  readonly width?: number
  /** Buttons of the row. */
  readonly isActions?: boolean
  /** Direction of the first click on its heading; undefined: it does not sort. */
  readonly sort?: 'asc' | 'desc'
  /** On a phone: `plain` has no name before the value, `whole` takes a line, `hidden` is left out. */
  readonly inCard?: 'plain' | 'whole' | 'hidden'
  /** Where columns do not fit, the one with the highest number is left out first; undefined: never. */
  readonly leaves?: number
}

/** How a table is sorted. */
export interface TableSort {
  readonly key: string
  readonly direction: 'asc' | 'desc'
}

interface TableProps<R> {
  /** Name of the table, for screen readers. */
  readonly label: string
  /** The first one names the row and stays visible. */
  readonly columns: readonly TableColumn<R>[]
  readonly rows: readonly R[]
  readonly keyOf: (row: R) => string
  readonly sort?: TableSort
  readonly onSort?: (sort: TableSort) => void
  /** Each column sorts in its first direction only. */
  readonly sortsOneWay?: boolean
  /** Adds a box to each row that chooses it. */
  readonly selection?: {
    readonly selected: ReadonlySet<string>
    readonly onChange: (selected: ReadonlySet<string>) => void
    /** Name of a row, for screen readers. */
    readonly nameOf: (row: R) => string
  }
  /** Something below a row that belongs to it. */
  readonly detailOf?: (row: R) => ComponentChildren
  /** Rows stay rows on a phone too, for tables of a few narrow columns. */
  readonly isNeverStacked?: boolean
  /** j and k move from row to row also while nothing has the focus: for the one list of a page. */
  readonly hasKeys?: boolean
  /** A click anywhere in a row follows the link of its first column. */
  readonly opensRows?: boolean
  /** Reports the keys of optional columns that are left out now. */
  readonly onLeftOut?: (keys: readonly string[]) => void
}

/**
 * A table. Its header and first column stay visible. Where it does not fit, optional columns are left out; then it scrolls by itself
 * and says so. On a phone each row is a card, and a choice above them sorts. j and k, or the arrow keys up and down, move between the first links or buttons of rows; x chooses a row.
 */
export function Table<R>(props: TableProps<R>) {
  const { label, rows, keyOf, selection, detailOf, isNeverStacked, hasKeys, opensRows } = props
  const root = useRef<HTMLDivElement>(null)
  const scroll = useRef<HTMLElement>(null)
  const columns = useFittingColumns(props, root, scroll)
  useRowKeys(root, hasKeys === true)
  const width = columns.length + (selection ? 1 : 0)
  return (
    <div ref={root} class={classes('ui-table', !isNeverStacked && 'is-stacked', opensRows && 'is-opening')}>
      {!isNeverStacked && <SortChoice {...props} />}
      <p class="ui-table-hint" aria-hidden="true">
        {texts.scroll} <Icon of={MoveRight} size={14} />
      </p>
      <div class="ui-table-frame">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard */}
        <section ref={scroll} class="ui-table-scroll" aria-label={label} tabIndex={0}>
          <table aria-label={label}>
            <thead>
              <tr>
                {selection && (
                  <th class="is-check" scope="col">
                    <AllBox {...props} selection={selection} />
                  </th>
                )}
                {columns.map((column, i) => (
                  <Heading key={column.key} column={column} isFirst={i === 0} {...props} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => {
                const key = keyOf(row)
                const isSelected = selection?.selected.has(key)
                const detail = detailOf?.(row)
                const hasDetail = detail !== undefined && detail !== null && detail !== false
                return (
                  <Fragment key={key}>
                    <tr
                      data-row={key}
                      class={hasDetail ? 'is-with-detail' : undefined}
                      aria-selected={isSelected}
                      onClick={opensRows ? openRow : undefined}
                      onAuxClick={opensRows ? openRow : undefined}
                    >
                      {selection && (
                        <td class="is-check">
                          <label>
                            <input
                              type="checkbox"
                              aria-label={texts.choose(selection.nameOf(row))}
                              checked={isSelected}
                              onChange={() => selection.onChange(toggled(selection.selected, key))}
                            />
                          </label>
                        </td>
                      )}
                      {columns.map((column, i) => (
                        <Cell key={column.key} column={column} isFirst={i === 0} row={row} />
                      ))}
                    </tr>
                    {hasDetail && (
                      <tr class="is-detail">
                        <td colSpan={width}>{detail}</td>
                      </tr>
                    )}
                  </Fragment>
                )
              })}
            </tbody>
          </table>
        </section>
        <div class="ui-table-fade" aria-hidden="true" />
      </div>
    </div>
  )
}

/** Follows the link of a row, in a new tab with the keys or the button for one. Text that is being selected opens nothing. */
function openRow(event: MouseEvent): void {
  const target = event.target as Element
  const row = event.currentTarget as Element
  const own = target.closest('a, button, input, label, select, [tabindex]')
  // The table around the row takes the focus too.
  if (event.button > 1 || (own !== null && row.contains(own))) return
  if (window.getSelection()?.isCollapsed === false) return
  const { ctrlKey, metaKey, shiftKey, button } = event
  const isNewTab = button === 1
  const click = { bubbles: true, cancelable: true, ctrlKey: ctrlKey || isNewTab, metaKey, shiftKey }
  row.querySelector('.is-first a')?.dispatchEvent(new MouseEvent('click', click))
}

function toggled(selected: ReadonlySet<string>, key: string): Set<string> {
  const next = new Set(selected)
  if (!next.delete(key)) next.add(key)
  return next
}

function AllBox<R>({
  rows,
  keyOf,
  selection,
}: TableProps<R> & { readonly selection: NonNullable<TableProps<R>['selection']> }) {
  const keys = rows.map(keyOf)
  const chosen = keys.filter((key) => selection.selected.has(key)).length
  const change = () => {
    const next = new Set(selection.selected)
    for (const key of keys)
      if (chosen === keys.length) next.delete(key)
      else next.add(key)
    selection.onChange(next)
  }
  return (
    <input
      type="checkbox"
      aria-label={texts.chooseAll}
      checked={chosen > 0 && chosen === keys.length}
      indeterminate={chosen > 0 && chosen < keys.length}
      onChange={change}
    />
  )
}

/** Sorts where there are no headings: on a phone. */
function SortChoice<R>({ columns, sort, onSort, sortsOneWay }: TableProps<R>) {
  const sortable = columns.filter((column) => column.sort !== undefined)
  if (onSort === undefined || sortable.length === 0) return null
  const direction = sort?.direction ?? 'desc'
  return (
    <div class="ui-table-sort">
      <span aria-hidden="true">{texts.sortBy}</span>
      <Select
        label={texts.sortBy}
        isLabelHidden
        isSmall
        value={sort?.key ?? ''}
        options={sortable.map((column) => ({ value: column.key, label: column.label }))}
        onChange={(key) => onSort({ key, direction: sortable.find((column) => column.key === key)!.sort! })}
      />
      {!sortsOneWay && (
        <IconButton
          icon={direction === 'asc' ? ArrowUp : ArrowDown}
          label={texts.reverse[direction]}
          onClick={() => onSort({ key: sort?.key ?? sortable[0]!.key, direction: REVERSED[direction] })}
        />
      )}
    </div>
  )
}

const WORDS = { asc: 'ascending', desc: 'descending' } as const
const REVERSED = { asc: 'desc', desc: 'asc' } as const

interface HeadingProps<R> extends Pick<TableProps<R>, 'sort' | 'onSort' | 'sortsOneWay'> {
  readonly column: TableColumn<R>
  readonly isFirst: boolean
}

function Heading<R>({ column, isFirst, sort, onSort, sortsOneWay }: HeadingProps<R>) {
  const { key, label, isLabelHidden, isNumber, isActions, width, sort: first } = column
  const own = sort?.key === key ? sort.direction : undefined
  const isSortable = first !== undefined && onSort !== undefined
  return (
    <th
      scope="col"
      style={width === undefined ? undefined : { width: `${width}px` }}
      class={classes(isFirst && 'is-sticky', isNumber && 'is-number', isActions && 'is-actions')}
      aria-sort={own === undefined ? (isSortable ? 'none' : undefined) : WORDS[own]}
    >
      {isSortable ? (
        <button
          type="button"
          class="ui-sort"
          onClick={() => onSort({ key, direction: own === undefined || sortsOneWay ? first : REVERSED[own] })}
        >
          {label}
          <Icon of={(own ?? first) === 'asc' ? ArrowUp : ArrowDown} size={13} />
        </button>
      ) : isLabelHidden ? (
        <Hidden>{label}</Hidden>
      ) : (
        label
      )}
    </th>
  )
}

function Cell<R>({
  column,
  isFirst,
  row,
}: {
  readonly column: TableColumn<R>
  readonly isFirst: boolean
  readonly row: R
}) {
  const { label, isNumber, isActions, text, inCard, render } = column
  const name = classes(
    isFirst && 'is-sticky is-first',
    isNumber && 'is-number',
    isActions && 'is-actions',
    text === 'wrap' && 'is-wrapping',
    typeof text === 'number' && 'is-cut-text',
    inCard === 'whole' && 'is-whole',
    inCard === 'hidden' && 'is-hidden-in-card',
  )
  const style = typeof text === 'number' ? { '--max': `${text}px` } : undefined
  if (isFirst) {
    return (
      <th scope="row" class={name} style={style} data-label={isNumber ? label : undefined}>
        {render(row)}
      </th>
    )
  }
  return (
    <td class={name} style={style} data-label={isActions || inCard !== undefined ? undefined : label}>
      {render(row)}
    </td>
  )
}

/** Both margins of a table that is not cut, and the rounding error. */
const MARGINS_PX = 17

/**
 * The columns that fit. Optional ones that do not are left out, and a table whose other columns do not fit is marked, with where it is
 * scrolled to.
 */
function useFittingColumns<R>(
  { columns, onLeftOut }: TableProps<R>,
  root: { current: HTMLElement | null },
  scroll: { current: HTMLElement | null },
): readonly TableColumn<R>[] {
  const optional = columns
    .filter(({ leaves }) => leaves !== undefined)
    .sort((a, b) => a.leaves! - b.leaves!)
    .map(({ key }) => key)
  const all = columns.map(({ key }) => key).join()
  const [state, setState] = useState({ all, count: 0 })
  const count = state.all === all ? state.count : 0
  /** Widths that the table needed, by the number of columns left out. */
  const needed = useRef<number[]>([])
  const fit = useRef(() => {})
  fit.current = () => {
    const [table, view] = [root.current!, scroll.current!]
    const inner = view.firstElementChild as HTMLElement
    const room = table.clientWidth + MARGINS_PX
    const isCard = getComputedStyle(inner).display === 'block'
    const isTooWide = inner.offsetWidth > room
    if (isCard ? count > 0 : count > 0 && room >= needed.current[count - 1]!) setState({ all, count: count - 1 })
    else if (isTooWide && count < optional.length) {
      needed.current[count] = inner.offsetWidth
      setState({ all, count: count + 1 })
    }
    const isCut = isTooWide && count === optional.length
    table.classList.toggle('is-cut', isCut)
    table.classList.toggle('is-scrolled', isCut && view.scrollLeft > 0)
    table.classList.toggle('is-at-end', view.scrollLeft + view.clientWidth >= view.scrollWidth - 1)
  }
  // Before the first frame, so that nothing jumps, and a return to a place in the table finds it scrolling.
  useLayoutEffect(() => fit.current(), [all, count])
  useLayoutEffect(() => {
    const [table, view] = [root.current!, scroll.current!]
    const look = () => fit.current()
    const resized = new ResizeObserver(look)
    resized.observe(table)
    resized.observe(view.firstElementChild!)
    view.addEventListener('scroll', look, { passive: true })
    return () => {
      resized.disconnect()
      view.removeEventListener('scroll', look)
    }
  }, [])
  const leftOut = new Set(optional.slice(optional.length - count))
  const names = [...leftOut].join()
  useLayoutEffect(() => onLeftOut?.(names === '' ? [] : names.split(',')), [names])
  return columns.filter(({ key }) => !leftOut.has(key))
}

const STEPS: Readonly<Record<string, number>> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }

/** Keys that move between rows. @param isWhole also while the focus is outside of the table */
function useRowKeys(root: { current: HTMLElement | null }, isWhole: boolean): void {
  useLayoutEffect(() => {
    const table = root.current!
    const press = (event: KeyboardEvent) => {
      const { key } = event
      const target = pageKeyTarget(event)
      if (target === undefined) return
      const isInside = table.contains(target)
      const rows = [...table.querySelectorAll<HTMLTableRowElement>('tbody > tr[data-row]')]
      const at = rows.findIndex((row) => row.contains(target))
      if (key === 'x' && at >= 0) rows[at]!.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
      const step = STEPS[key]
      // Arrow keys scroll the page as long as no row has the focus.
      if (step === undefined || (at < 0 && (key.startsWith('Arrow') || !(isWhole || isInside)))) return
      const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step]
      const focused = next?.querySelector<HTMLElement>('th a, th button, a, button')
      if (focused === null || focused === undefined) return
      event.preventDefault()
      focused.focus()
      focused.scrollIntoView({ block: 'nearest' })
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [isWhole])
}
