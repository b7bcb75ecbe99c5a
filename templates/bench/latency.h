/* latency.h - how long single calls take, one by one on the wall clock, from one thread or several. */

typedef struct caller {
    const contender *self;
    size_t first, rows;  /* its share of the rows */
    size_t calls;        /* single calls to make */
    size_t batches;      /* or batches of its rows */
    double *samples;     /* [calls] seconds */
} caller;

static double wall(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now)) fail("clock_gettime", NULL);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *call_singles(void *argument)
{
    const caller *own = argument;
    volatile double answer = 0;
    for (size_t call = 0; call < own->calls; call++) {
        double start = wall();
        answer = own->self->one(own->self, own->first + call % own->rows);
        own->samples[call] = wall() - start;
    }
    (void)answer;
    return NULL;
}

static void *call_batches(void *argument)
{
    const caller *own = argument;
    for (size_t loop = 0; loop < own->batches; loop++) own->self->many(own->self, own->first, own->rows);
    return NULL;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The nearest-rank percentile of sorted samples. */
static double percentile(const double *samples, size_t n, double share)
{
    size_t rank = (size_t)ceil(share * (double)n);
    return samples[rank ? rank - 1 : 0];
}

static void print_percentiles(double *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, ascending);
    printf("%.9e %.9e %.9e %.9e", percentile(samples, n, 0.5), percentile(samples, n, 0.95),
           percentile(samples, n, 0.99), samples[n - 1]);
}

/* As many calls as take LATENCY_SECONDS, a thousand at least and `most` at most. */
static size_t calls_of(const contender *self, size_t most)
{
    double wanted = LATENCY_SECONDS / (self->best_single > 1e-9 ? self->best_single : 1e-9);
    return wanted > (double)most ? most : wanted < 1000 ? (most < 1000 ? most : 1000) : (size_t)wanted;
}

static void time_calls(const contender *self, size_t most)
{
    size_t calls = calls_of(self, most);
    caller own = {self, 0, n_rows, calls, 0, allocate(calls, sizeof(double))};
    call_singles(&own);
    print_percentiles(own.samples, calls);
    printf(" %zu\n", calls);
    free(own.samples);
}

/* All threads at once; the seconds from the first start to the last end. */
static double run_threads(void *(*work)(void *), caller *callers, size_t n)
{
    pthread_t threads[MOST_THREADS];
    double start = wall();
    for (size_t t = 0; t < n; t++)
        if (pthread_create(&threads[t], NULL, work, &callers[t])) fail("pthread_create", NULL);
    for (size_t t = 0; t < n; t++) pthread_join(threads[t], NULL);
    return wall() - start;
}

/* Prints: threads, seconds per row of a batch that they share, percentiles of single calls, calls. */
static void time_threads(const contender *self, size_t n, size_t most)
{
    caller callers[MOST_THREADS];
    size_t calls = calls_of(self, most), share = n_rows / n;
    double *samples = allocate(calls * n, sizeof *samples), best = 0;
    for (size_t t = 0; t < n; t++)
        callers[t] = (caller){self, t * share, t == n - 1 ? n_rows - t * share : share, calls, 0, samples + t * calls};
    run_threads(call_singles, callers, n);
    for (size_t t = 0; t < n; t++)
        callers[t].batches = 1 + (size_t)(PASS_SECONDS / (self->best_batch * (double)callers[t].rows + 1e-9));
    for (int turn = 0; turn < 5; turn++) {
        double seconds_used = run_threads(call_batches, callers, n), done = 0;
        for (size_t t = 0; t < n; t++) done += (double)(callers[t].batches * callers[t].rows);
        if (turn == 0 || seconds_used / done < best) best = seconds_used / done;
    }
    printf("%zu %.9e ", n, best);
    print_percentiles(samples, calls * n);
    printf(" %zu\n", calls * n);
    free(samples);
}
