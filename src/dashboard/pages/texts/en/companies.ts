import { parts, type Wrap } from '../parts.ts'
import { counted } from './counted.ts'

export const companies = {
  list: {
    import: 'Import',
    newer: (count: string) => `${count} newer, show`,
    moved: 'Order changed, show',
    clear: 'Clear filters',
    noPage: (page: string) => `There is no page ${page}`,
    firstPage: 'Show the first page',
    noMatch: 'No company matches',
    widen: 'Clear some of the filters, choose more days, or search for a shorter part of the name.',
    noneOnDays: 'No company on these days',
    allTime: 'Show all time',
    noneYet: 'No company was seen yet',
    columns: 'Columns',
    shownColumns: 'Columns that are shown',
    wider: (column: string) => `${column} (needs a wider window)`,
    keys: 'Keys',
    keyNext: 'Next company, previous company; also on the page of a company',
    enter: 'Enter',
    keyOpen: 'Open the company',
    keyChoose: 'Choose the company, for an action on several',
    keySearch: 'Search',
    keyKeys: 'These keys',
    pages: 'Pages of companies',
    previous: 'Previous',
    rows: (first: string, last: string, total: string) => `${first}–${last} of ${total}`,
    next: 'Next',
    begin: (keys: Wrap, uploads: Wrap) =>
      parts`${keys('Make an API key')} and send events from your site, or ${uploads('upload a file')}. Companies appear here within seconds. With your key in place of YOUR_KEY, this sends an event of Apple:`,
    command: 'Command that sends an event',
    ofSegment: 'A segment: companies with these filters now.',
    loading: ' · loading…',
    unknown: (visits: number, days: number) =>
      `${counted(visits, 'visit')} in ${days} days ${visits === 1 ? 'has' : 'have'} no company`,
  },
}
