import { counted } from './counted.ts'

export const readPages = {
  page: {
    title: 'Pages',
    about: 'Which of your pages companies read, and which companies read them.',
    search: 'Search pages',
    forExample: 'For example pricing',
    first: (shown: string, all: string) => `The first ${shown} of ${all}. Search to find others.`,
    noMatch: 'No page matches',
    noneWith: (search: string) => `No known company read a page with “${search}” in its address on these days.`,
    clear: 'Clear the search',
    none: 'No known company read a page on these days',
    moreDays:
      'Choose more days. If events arrive and this stays empty, they name no page: send the URL of the page as url.',
    sources: 'See the sources',
    page: 'Page',
    which: 'Which',
    hide: 'Hide',
    show: 'Show',
    whoRead: (path: string) => `companies that read ${path}`,
    byDay: 'Visits by day',
    most: (shown: string, all: string) => `The ${shown} with the most visits of ${all}.`,
    count: (pages: number) => counted(pages, 'page'),
    loading: ' · loading…',
    trend: (visits: number, days: number) => `${counted(visits, 'visit')} in ${counted(days, 'day')}`,
  },
  tabs: {
    views: 'Views of pages',
    pages: 'Pages',
    channels: 'Channels',
  },
}
