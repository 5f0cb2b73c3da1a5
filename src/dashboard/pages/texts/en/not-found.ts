import { type Part, parts } from '../parts.ts'

export const notFound = {
  page: {
    back: 'Back to the start',
    title: 'Page not found',
    nothing: 'There is nothing at this address',
    cutOff: 'The link may be cut off, or the page has moved.',
    noWorkspace: (id: string) => `There is no workspace ${id}`,
    nothingToShow: 'Nothing to show',
    deleted: 'The workspace was deleted, or this session may not see it.',
    notWithSample: 'Not with sample data',
    noChange: 'Nothing can be changed here',
    switchOff: 'Switch the sample data off to use this page.',
    yourRole: 'Your role does not open it',
    adminCan: 'An admin of your workspace can give you another role.',
    forOperators: 'This page is for operators',
    oneWorkspace: 'You are signed in to one workspace',
    operatorOpens: (command: Part) =>
      parts`An operator opens this page with the link that ${command} prints on the machine where ipid runs.`,
    forRole: {
      viewer: 'This page is for viewers',
      member: 'This page is for members',
      admin: 'This page is for admins',
    },
  },
}
