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
    sendOne: 'Each event sent to the API appears here within a second. Send one, with your key instead of YOUR_KEY:',
    command: 'Command that sends an event',
    noMatch: 'No event matches the filter',
    widen: 'Choose another status, or type a shorter part of the name.',
    page: 'Page',
    why: 'Why',
    event: 'Event',
    address: 'Address',
    notKept: 'not kept',
    time: 'Time',
  },
}
