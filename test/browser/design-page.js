/* A page of parts, for test/browser/design.test.ts: it needs no server. */
import { h, render } from 'preact'
import { useState } from 'preact/hooks'
import '../../src/dashboard/pages/design/tokens.css'
import '../../src/dashboard/pages/design/base.css'
import { X } from 'lucide-preact'
import { Button, IconButton } from '../../src/dashboard/pages/design/button.tsx'
import { Chips, FilterChip } from '../../src/dashboard/pages/design/chip.tsx'
import { DateRange } from '../../src/dashboard/pages/design/date-range.tsx'
import { HeatBadge } from '../../src/dashboard/pages/design/heat-badge.tsx'
import { Stack } from '../../src/dashboard/pages/design/layout.tsx'
import { Page, Section } from '../../src/dashboard/pages/design/page.tsx'
import { Menu } from '../../src/dashboard/pages/design/popover.tsx'
import { Table } from '../../src/dashboard/pages/design/table.tsx'
import { Toasts, toast } from '../../src/dashboard/pages/design/toast.tsx'

const ROWS = Array.from({ length: 60 }, (_, i) => ({ id: `c${i}`, name: `Company ${i}` }))
const COLUMNS = [
  { key: 'name', label: 'Company', sort: 'asc', render: ({ id, name }) => h('a', { href: `#${id}` }, name) },
  ...Array.from({ length: 10 }, (_, i) => ({
    key: `n${i}`,
    label: `Number ${i}`,
    isNumber: true,
    render: ({ id }) => (id === 'c7' && i === 9 ? '' : 123_456),
  })),
]
/** `n2` leaves before `n1`; the other columns stay. */
const LEAVING = COLUMNS.slice(0, 4).map((column) => ({
  ...column,
  label: column.label.replace('Number', 'Figure'),
  ...(column.key !== 'name' && { render: () => 'x'.repeat(40) }),
  ...(column.key === 'n1' && { leaves: 1 }),
  ...(column.key === 'n2' && { leaves: 2 }),
}))
const COUNTRIES = ['Austria', 'Belgium', 'Chile', 'Denmark', 'Estonia', 'France', 'Germany', 'Hungary', 'Italy']

function Parts() {
  const [values, setValues] = useState([])
  const [range, setRange] = useState('30d')
  const [sort, setSort] = useState({ key: 'name', direction: 'asc' })
  const [selected, setSelected] = useState(new Set())
  const [undone, setUndone] = useState(0)
  const options = COUNTRIES.map((name, i) => ({ value: name, label: name, count: i }))
  const hide = () => toast({ text: 'Company 1 is hidden.', undo: () => setUndone(undone + 1) })
  const fail = () => toast({ text: 'Company 2 is hidden.', undo: () => Promise.reject(new Error('no connection')) })
  return h(
    'main',
    { style: 'padding: 0 16px' },
    h(
      Page,
      { title: 'Parts', actions: h(DateRange, { value: range, onChange: setRange, hasAll: true }) },
      h(
        Section,
        { title: 'Filters' },
        h(Chips, null, h(FilterChip, { label: 'Country', values, options, onChange: setValues })),
        h('output', null, `${values.join('+')} ${JSON.stringify(range)} ${selected.size} chosen, undone ${undone}`),
      ),
      h(
        Stack,
        null,
        h(Button, { onClick: hide }, 'Hide'),
        h(Button, { onClick: fail }, 'Hide badly'),
        h(IconButton, { icon: X, label: 'Close it' }),
        h(Menu, {
          label: 'More',
          trigger: (props) => h(Button, props, 'More'),
          entries: [{ label: 'Rename', onSelect: hide }, 'line', { label: 'Merge', onSelect: hide }],
        }),
        h(HeatBadge, { heat: 82, level: 'top', why: [{ label: 'Visits', points: 40 }] }),
      ),
      h(
        Section,
        { title: 'List' },
        h(Table, {
          label: 'Companies',
          rows: ROWS,
          columns: COLUMNS,
          keyOf: ({ id }) => id,
          sort,
          onSort: setSort,
          selection: { selected, onChange: setSelected, nameOf: ({ name }) => name },
          hasKeys: true,
        }),
      ),
    ),
    h(Leaving, null),
    h(Toasts, null),
  )
}

function Leaving() {
  const [left, setLeft] = useState([])
  return h(
    Section,
    { title: 'Columns that leave' },
    h('output', null, `left out: ${left.join()}`),
    h(Table, {
      label: 'Narrow',
      rows: [{ id: 'opened', name: 'Opening' }],
      columns: LEAVING,
      keyOf: ({ id }) => id,
      opensRows: true,
      onLeftOut: setLeft,
    }),
  )
}

render(h(Parts), document.body)
