export const segmentLink = {
  page: {
    title: 'Segment',
    gone: 'This segment is gone',
    removed: 'It was removed after the mail was sent.',
    all: 'All companies',
  },
}
