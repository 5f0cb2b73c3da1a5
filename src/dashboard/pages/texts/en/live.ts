import { parts, type Wrap } from '../parts.ts'

export const live = {
  live: {
    all: 'All',
    title: 'Live',
    about: (uploads: Wrap) =>
      parts`Events that arrive now, and their results. A repeat shows as kept too, but counts once. Files are on ${uploads('Uploads')}.`,
    resume: 'Resume',
    pause: 'Pause',
    search: 'Company, page, type, address or reason',
    paused: (missed: string) => `Paused; ${missed} came meanwhile.`,
    lost: 'The server does not answer or refuses the connection. Trying again; reload the page if this continues.',
    connecting: 'Connecting…',
    noEvents: 'Connected. No events right now.',
    showing: (shown: string, about: string) => `Showing ${shown} of ${about}.`,
    allShown: (about: string) => `All are shown: ${about}.`,
    perSecond: (events: string) => `about ${events} a second`,
    waiting: 'Waiting for events',
    aboutWaiting: 'Each event appears here within a second.',
    dayZero: 'Events appear here as they arrive',
    aboutDayZero: 'Each within a second, with its company, or the reason why it was left out.',
    noMatch: 'No event matches',
    text: 'Search',
    page: 'Page',
    why: 'Why',
    event: 'Event',
    address: 'Address',
    notKept: 'not kept',
    time: 'Time',
  },
}
