export const start = {
  page: {
    title: 'Welcome',
    none: 'There is no tenant yet',
    about: 'Every event belongs to a tenant. Create the first here, or with a command.',
    create: 'Create the first',
    command: 'Command for a tenant',
  },
}
