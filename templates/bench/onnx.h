/* onnx.h - a graph of one input in ONNX Runtime, asked for one of its outputs from C.
 *
 * The library comes without its header, so the functions are taken by their places
 * in the table that OrtGetApiBase leads to. These never change: new ones are only
 * appended. One thread, and no warnings, which would cost more than the model.
 * Included by driver.c.
 */
enum {
    ORT_GET_ERROR_MESSAGE = 2, ORT_CREATE_ENV = 3, ORT_CREATE_SESSION = 7, ORT_RUN = 9,
    ORT_CREATE_SESSION_OPTIONS = 10, ORT_SET_LOG_SEVERITY = 22, ORT_SET_INTRA_OP_THREADS = 24,
    ORT_SET_INTER_OP_THREADS = 25, ORT_GET_INPUT_TYPE = 33, ORT_GET_INPUT_NAME = 36,
    ORT_CREATE_TENSOR = 49, /* over memory of the caller */
    ORT_GET_TENSOR_DATA = 51, ORT_CAST_TO_TENSOR_TYPE = 55, ORT_GET_ELEMENT_TYPE = 60,
    ORT_GET_TENSOR_TYPE = 65, /* of a value */
    ORT_CREATE_CPU_MEMORY_INFO = 69, ORT_GET_ALLOCATOR = 78, ORT_RELEASE_VALUE = 96,
    ORT_FIRST_VERSION = 1, /* has all of these */
    ORT_FATAL = 4, ORT_FLOAT = 1, ORT_INT64 = 7, ORT_DOUBLE = 11
};

typedef void *ort_call(); /* takes what its place takes; returns an error or NULL */

typedef struct ort_graph {
    ort_call *const *table;
    void *session, *memory, *row; /* the tensor of a single row */
    const char *input, *output;
    int type;      /* of the input's numbers */
    size_t size;   /* of one of them */
    char *buffer;  /* what the tensor of a single row lies over */
    const char *rows; /* all rows in the input's type */
} ort_graph;

static void ort_check(const ort_graph *graph, void *status)
{
    if (status) fail("ONNX Runtime", (const char *)graph->table[ORT_GET_ERROR_MESSAGE](status));
}

#define ORT(PLACE, ...) ort_check(graph, graph->table[PLACE](__VA_ARGS__))

static void *ort_tensor(const ort_graph *graph, const char *data, size_t count)
{
    int64_t shape[2] = {(int64_t)count, (int64_t)n_features};
    void *value = NULL;
    ORT(ORT_CREATE_TENSOR, graph->memory, data, count * n_features * graph->size, shape, (size_t)2, graph->type, &value);
    return value;
}

/* Answers of the rows of a tensor, which are labels or values. */
static void ort_answers(const ort_graph *graph, const void *tensor, size_t count, double *answers)
{
    void *found = NULL, *data = NULL;
    ORT(ORT_RUN, graph->session, NULL, &graph->input, &tensor, (size_t)1, &graph->output, (size_t)1, &found);
    ORT(ORT_GET_TENSOR_DATA, found, &data);
    for (size_t i = 0; i < count; i++)
#if REGRESSOR
        answers[i] = graph->type == ORT_FLOAT ? (double)((const float *)data)[i] : ((const double *)data)[i];
#else
        answers[i] = (double)((const int64_t *)data)[i];
#endif
    graph->table[ORT_RELEASE_VALUE](found);
}

/* What a caller does who keeps a tensor for single rows. */
static double onnx_one(const contender *self, size_t row)
{
    const ort_graph *graph = self->graph;
    double answer;
    memcpy(graph->buffer, graph->rows + row * n_features * graph->size, n_features * graph->size);
    ort_answers(graph, graph->row, 1, &answer);
    return answer;
}

static void onnx_many(const contender *self, size_t first, size_t count)
{
    const ort_graph *graph = self->graph;
    void *tensor = ort_tensor(graph, graph->rows + first * n_features * graph->size, count);
    ort_answers(graph, tensor, count, self->results + n_rows + first);
    graph->table[ORT_RELEASE_VALUE](tensor);
}

static void ort_start(ort_graph *graph, const char *path)
{
    void *env = NULL, *options = NULL;
    ORT(ORT_CREATE_ENV, ORT_FATAL, "bench", &env);
    ORT(ORT_CREATE_SESSION_OPTIONS, &options);
    ORT(ORT_SET_INTRA_OP_THREADS, options, 1);
    ORT(ORT_SET_INTER_OP_THREADS, options, 1);
    ORT(ORT_SET_LOG_SEVERITY, options, ORT_FATAL);
    ORT(ORT_CREATE_SESSION, env, path, options, &graph->session);
    ORT(ORT_CREATE_CPU_MEMORY_INFO, 0, 0, &graph->memory);
}

static void ort_look_at_ends(ort_graph *graph)
{
    void *allocator = NULL, *type = NULL, *tensor_type = NULL;
    ORT(ORT_GET_ALLOCATOR, &allocator);
    ORT(ORT_GET_INPUT_NAME, graph->session, (size_t)0, allocator, &graph->input);
    ORT(ORT_GET_INPUT_TYPE, graph->session, (size_t)0, &type);
    ORT(ORT_CAST_TO_TENSOR_TYPE, type, &tensor_type);
    ORT(ORT_GET_ELEMENT_TYPE, tensor_type, &graph->type);
    if (graph->type != ORT_FLOAT && graph->type != ORT_DOUBLE) fail("ONNX Runtime", "the graph takes no real numbers");
    graph->size = graph->type == ORT_FLOAT ? sizeof(float) : sizeof(double);
}

/* An answer whose type is not the one expected would be misread. */
static void ort_check_output(const ort_graph *graph)
{
    void *found = NULL, *type = NULL;
    int element = 0;
    ORT(ORT_RUN, graph->session, NULL, &graph->input, &graph->row, (size_t)1, &graph->output, (size_t)1, &found);
    ORT(ORT_GET_TENSOR_TYPE, found, &type);
    ORT(ORT_GET_ELEMENT_TYPE, type, &element);
    if (element != (REGRESSOR ? graph->type : ORT_INT64)) fail("ONNX Runtime", "the graph's answers are no integers");
    graph->table[ORT_RELEASE_VALUE](found);
}

/* `name` is OUTPUT:FILE. */
static void open_onnx(contender *self, void *library, char *name)
{
    typedef struct {
        const void *(*api)(uint32_t version);
        const char *(*version)(void);
    } base;
    const base *(*get_base)(void);
    ort_graph *graph = self->graph = allocate(1, sizeof *graph);
    size_t count = n_rows * n_features;
    char *path = strchr(name, ':');
    if (!path) fail(name, "names no output");
    memset(graph, 0, sizeof *graph);
    *path++ = '\0';
    graph->output = name;
    find(library, "OrtGetApiBase", &get_base);
    graph->table = get_base()->api(ORT_FIRST_VERSION);
    if (!graph->table) fail("ONNX Runtime", "gives no functions");
    ort_start(graph, path);
    ort_look_at_ends(graph);
    char *rows = allocate(count, graph->size);
    for (size_t i = 0; i < count; i++)
        if (graph->type == ORT_FLOAT) ((float *)(void *)rows)[i] = (float)raw_rows[i];
        else ((double *)(void *)rows)[i] = raw_rows[i];
    graph->rows = rows;
    graph->buffer = allocate(n_features, graph->size);
    memcpy(graph->buffer, rows, n_features * graph->size);
    graph->row = ort_tensor(graph, graph->buffer, 1);
    ort_check_output(graph);
    self->one = onnx_one;
    self->many = onnx_many;
}
