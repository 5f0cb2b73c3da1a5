import { number } from '../../lib/format.ts'
import { parts, type Wrap } from '../parts.ts'
import { counted, wasOrWere } from './counted.ts'

/** Where days of the workspace are not those of UTC. */
const ofUtcDays = (isUtc: boolean) => (isUtc ? '' : ' of the last 7 UTC days')

export const home = {
  home: {
    title: 'Home',
    about: 'The last 7 days.',
    companies: 'Companies',
    newCompanies: 'New companies',
    visits: 'Visits',
    events: 'Events',
    chart: 'Visits of companies by day',
    chartDay: 'Day',
    last7: 'Last 7 days',
    weekBefore: 'Same day a week before',
    alsoNew: 'Also new this week',
    began: (page: string) => `began on ${page}`,
    since: (day: string) => `since ${day}`,
    alsoRising: 'Also heating up',
    rise: (heat: string) => `+${heat} in 7 days`,
    usually: (visits: number, usual: string) => `${counted(visits, 'visit')}, usually ${usual}`,
    alsoBack: 'Also came back',
    last: (page: string) => `last on ${page}`,
    awayLong: 'away for over 4 weeks',
    awaySince: (day: string) => `away since ${day}`,
    five: 'Five to look at today',
    toLookAt: 'To look at today',
    nothing: 'No company is new, heating up or back this week.',
    in7Days: 'in 7 days',
    sayFit: (link: Wrap) => parts`${link('Say which companies fit you')}, and those come first.`,
    goodFit: 'good fit',
    pages: 'Pages they read',
    noPage: 'The events of this week name no page. Send the URL of the page as url.',
    byWeek: 'By week',
    noneFiltered: (events: number, isUtc: boolean) =>
      `Nothing of ${counted(events, 'received event')}${ofUtcDays(isUtc)} was filtered`,
    filtered: (filtered: number, events: number, share: string, isUtc: boolean) =>
      `${number(filtered)} of ${counted(events, 'received event')} (${share})${ofUtcDays(isUtc)} ${wasOrWere(filtered)} filtered as noise. Show why`,
    otherSpans: 'By day, and other spans',
    dayZero: 'No visit was received yet',
    aboutDayZero: 'Companies appear here within seconds of their visits.',
    limit: 'A limit of the plan is near or passed',
    seePlan: 'See the plan',
    days: (days: number) => `${counted(days, 'day')} of 7`,
    daysRead: (days: number, page: string) => `${counted(days, 'day')} of 7, read ${page}`,
    daysLast: (days: number, page: string) => `${counted(days, 'day')} of 7, last on ${page}`,
  },
}
