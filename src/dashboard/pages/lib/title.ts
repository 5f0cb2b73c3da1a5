import { useEffect } from 'preact/hooks'

/** What the tab of the browser and its history call the page, from the particular to the general. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts, 'ipid'].filter((part) => part !== undefined && part !== '').join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
