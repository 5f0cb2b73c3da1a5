export const channels = {
  page: {
    title: 'Pages',
    about: 'What brought the companies that visited on these days.',
  },
}
