import { useEffect } from 'preact/hooks'

/** Sets the title of the browser's tab, from the particular to the general. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts, 'ipid'].filter((part) => part !== undefined && part !== '').join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
