/** A reader that closes the pipe early (`ipid sql … | head`) is not an error of this process. */
export function ignoreBrokenPipes(): void {
  process.stdout.on('error', ignoreBrokenPipe)
  process.stderr.on('error', ignoreBrokenPipe)
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
